package io.lambdadispatcher.server.log;

import java.nio.file.FileSystems;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * Permissions of new files that only their owner may read and write, because they tell who has
 * requested what, or what was spent. A file that exists keeps its own. Any thread.
 */
public final class OwnerOnly {
    private OwnerOnly() {}

    /**
     * Returns nothing if the file system has no POSIX permissions. Such systems have separate
     * directories for each user.
     */
    public static FileAttribute<?>[] permissions() {
        return FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
                }
                : new FileAttribute<?>[0];
    }
}
