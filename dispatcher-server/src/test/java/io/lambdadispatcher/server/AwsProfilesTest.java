package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider;
import software.amazon.awssdk.profiles.ProfileFile;

/** The SDK finds the modules for some kinds of profiles by reflection. */
class AwsProfilesTest {
    private static final String PROFILES = """
            [profile session]
            sso_session = s
            sso_account_id = 111122223333
            sso_role_name = Dev
            region = eu-west-1
            [sso-session s]
            sso_start_url = https://no-such-directory.example/start
            sso_region = eu-west-1
            [profile legacy]
            sso_start_url = https://no-such-directory.example/start
            sso_region = eu-west-1
            sso_account_id = 111122223333
            sso_role_name = Dev
            region = eu-west-1
            [profile login]
            login_session = arn:aws:iam::111122223333:user/no-such-user
            region = eu-west-1
            """;

    /** Nobody has logged in here. The SDK looks for the token, and says how to get one. */
    @ParameterizedTest
    @CsvSource({"session, aws sso login", "legacy, aws sso login", "login, login"})
    void should_use_profiles_with_a_login(String profile, String reason, @TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("config"), PROFILES);
        ProfileFile profiles = ProfileFile.builder()
                .content(file)
                .type(ProfileFile.Type.CONFIGURATION)
                .build();
        try (ProfileCredentialsProvider provider = ProfileCredentialsProvider.builder()
                .profileFile(profiles)
                .profileName(profile)
                .build()) {
            Throwable failure = catchThrowable(provider::resolveCredentials);

            assertThat(failure).hasMessageNotContaining("class path").message().containsIgnoringCase(reason);
        }
    }
}
