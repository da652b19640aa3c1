package io.lambdadispatcher.wire.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionContext;

class LeakCheckTest {

    @Test
    void should_name_where_a_lost_buffer_was_used() throws Exception {
        lose(PooledByteBufAllocator.DEFAULT);
        assertThat(LeakCheck.takeLeaks())
                .singleElement()
                .asString()
                .contains("ByteBuf never released", "LeakCheckTest");
    }

    @Test
    void should_find_buffers_of_the_default_allocator() throws Exception {
        lose(ByteBufAllocator.DEFAULT);
        assertThat(LeakCheck.takeLeaks()).hasSize(1);
    }

    @Test
    void should_find_a_slice_that_kept_its_buffer_alive() throws Exception {
        loseSlice();
        assertThat(LeakCheck.takeLeaks()).hasSize(1);
    }

    @Test
    void should_be_content_with_released_buffers() throws Exception {
        ByteBuf kept = ByteBufAllocator.DEFAULT.buffer(64);
        kept.retainedSlice().release();
        kept.release();
        assertThat(LeakCheck.takeLeaks()).isEmpty();
    }

    @Test
    void should_fail_the_class_that_lost_a_buffer() {
        lose(ByteBufAllocator.DEFAULT);
        assertThatThrownBy(() -> new LeakCheck().afterAll(contextOf(LeakCheckTest.class)))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("LeakCheckTest")
                .hasMessageContaining("lost 1 buffers");
    }

    private static void lose(ByteBufAllocator allocator) {
        allocator.directBuffer(64).writeInt(1);
    }

    private static void loseSlice() {
        ByteBuf whole = ByteBufAllocator.DEFAULT.buffer(64).writeInt(1);
        whole.retainedSlice();
        whole.release();
    }

    private static ExtensionContext contextOf(Class<?> testClass) {
        return (ExtensionContext) Proxy.newProxyInstance(
                LeakCheckTest.class.getClassLoader(),
                new Class<?>[] {ExtensionContext.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getRequiredTestClass" -> testClass;
                    case "getDisplayName" -> testClass.getSimpleName();
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }
}
