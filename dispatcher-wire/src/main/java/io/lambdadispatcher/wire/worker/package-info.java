/**
 * The worker protocol, version 1, as {@code docs/reference/protocol.md} specifies it: what the
 * dispatcher and a worker both need to speak it, and nothing of either. No type here starts a
 * thread or opens a socket; every stateful type is confined to one event loop by its owner.
 * Buffers: a method says so where it takes ownership, otherwise the caller keeps it.
 */
@NullMarked
package io.lambdadispatcher.wire.worker;

import org.jspecify.annotations.NullMarked;
