package io.lambdadispatcher.wire.testkit;

import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakDetectorFactory;
import io.netty.util.ResourceLeakTracker;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test class that has lost a buffer. Found by JUnit through {@code META-INF/services}; a
 * module switches it on with {@code junit.jupiter.extensions.autodetection.enabled}. Netty only
 * tracks every buffer at the leak level <em>paranoid</em>, which the build sets.
 *
 * <p>JUnit creates the extension before it initialises a test class, so that Netty's buffers find
 * this factory when they ask for their detector. A buffer that a static field of a test keeps alive
 * is not found.
 */
public final class LeakCheck implements AfterAllCallback {
    private static final int COLLECT_ATTEMPTS = 50;
    private static final int COLLECT_WAIT_MILLIS = 200;

    private static final List<Detector<?>> detectors = new CopyOnWriteArrayList<>();
    private static final ConcurrentLinkedQueue<String> leaks = new ConcurrentLinkedQueue<>();

    static {
        ResourceLeakDetectorFactory.setResourceLeakDetectorFactory(new Factory());
    }

    @Override
    public void afterAll(ExtensionContext context) throws InterruptedException {
        if (context.getRequiredTestClass().getEnclosingClass() != null) {
            return;
        }
        List<String> found = takeLeaks();
        if (!found.isEmpty()) {
            throw new AssertionError(context.getDisplayName() + " and what ran before it lost " + found.size()
                    + " buffers:\n" + String.join("\n", found));
        }
    }

    /**
     * Collects garbage, then returns what was lost since the last call, one text for each place it
     * was used at.
     */
    public static List<String> takeLeaks() throws InterruptedException {
        // The second collection ends after all that the first has found was queued for the
        // detectors.
        awaitCollection();
        awaitCollection();
        detectors.forEach(Detector::report);
        List<String> taken = new ArrayList<>();
        for (String leak = leaks.poll(); leak != null; leak = leaks.poll()) {
            taken.add(leak);
        }
        return taken;
    }

    private static void awaitCollection() throws InterruptedException {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        PhantomReference<Object> canary = new PhantomReference<>(new Object(), queue);
        for (int i = 0; i < COLLECT_ATTEMPTS; i++) {
            System.gc();
            if (queue.remove(COLLECT_WAIT_MILLIS) == canary) {
                return;
            }
        }
        throw new IllegalStateException("the JVM collects no garbage when asked: leaks cannot be found");
    }

    private static final class Factory extends ResourceLeakDetectorFactory {
        @Override
        @SuppressWarnings("deprecation") // the only method there is to override
        public <T> ResourceLeakDetector<T> newResourceLeakDetector(
                Class<T> resource, int samplingInterval, long maxActive) {
            return register(new Detector<>(resource, samplingInterval));
        }

        @Override
        public <T> ResourceLeakDetector<T> newResourceLeakDetector(Class<T> resource, int samplingInterval) {
            return register(new Detector<>(resource, samplingInterval));
        }

        private static <T> Detector<T> register(Detector<T> detector) {
            detectors.add(detector);
            return detector;
        }
    }

    private static final class Detector<T> extends ResourceLeakDetector<T> {
        private final Class<T> resource;

        Detector(Class<T> resource, int samplingInterval) {
            super(resource, samplingInterval);
            this.resource = resource;
        }

        /** A detector looks at its queue only when it is asked to track something. */
        @SuppressWarnings("unchecked") // it only keeps the identity hash of what it tracks
        void report() {
            T anything = (T) new Object();
            ResourceLeakTracker<T> tracker = trackForcibly(anything);
            if (tracker != null) {
                tracker.close(anything);
            }
        }

        @Override
        protected boolean needReport() {
            return true;
        }

        @Override
        protected void reportTracedLeak(String resourceType, String records) {
            leaks.add(
                    resource.getSimpleName() + " never released; -Dleak.records=40 shows where it was used:" + records);
        }

        @Override
        protected void reportUntracedLeak(String resourceType) {
            leaks.add(resource.getSimpleName() + " never released; nothing is recorded of its use");
        }
    }
}
