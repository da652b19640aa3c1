package io.lambdadispatcher.it.docker;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.testcontainers.DockerClientFactory;

/**
 * Decides whether tests with Docker run, by {@code IT_DOCKER}: {@code required} fails without
 * Docker, {@code off} always skips, {@code auto} (the default) skips without Docker.
 */
final class DockerCondition implements ExecutionCondition {
    private static final List<String> WISHES = List.of("auto", "off", "required");

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        DockerTest test = context.getRequiredTestClass().getAnnotation(DockerTest.class);
        String wish = System.getenv().getOrDefault("IT_DOCKER", "auto");
        if (!WISHES.contains(wish)) {
            throw new IllegalStateException("IT_DOCKER: '" + wish + "', expected one of " + WISHES);
        }
        String obstacle = wish.equals("off") ? "IT_DOCKER=off" : obstacle(test);
        if (obstacle == null) {
            return ConditionEvaluationResult.enabled(
                    "a Docker engine with the images is there, and so are the programs");
        }
        if (wish.equals("required")) {
            throw new IllegalStateException("IT_DOCKER=required, but: " + obstacle);
        }
        System.err.println(context.getDisplayName() + " is skipped: " + obstacle);
        return ConditionEvaluationResult.disabled(obstacle);
    }

    private static String obstacle(DockerTest test) {
        for (String program : test.programs()) {
            if (!Programs.has(program)) {
                return "no program " + program + " in " + Programs.path();
            }
        }
        // Checked first, because Testcontainers would try for minutes to pull an image for its own
        // checks.
        if (!new java.io.File("/var/run/docker.sock").exists() && System.getenv("DOCKER_HOST") == null) {
            return "no Docker engine (no /var/run/docker.sock, no DOCKER_HOST)";
        }
        List<String> missing = new ArrayList<>();
        try {
            for (Image image : test.value()) {
                if (!isThere(image)) {
                    missing.add(image.imageName().asCanonicalNameString());
                }
            }
        } catch (RuntimeException e) {
            return "no Docker engine answers: " + e.getMessage();
        }
        return missing.isEmpty() ? null : "images missing: " + missing + " (it/docker/build-images makes them)";
    }

    private static boolean isThere(Image image) {
        return DockerClientFactory.lazyClient()
                .listImagesCmd()
                .withImageNameFilter(image.imageName().asCanonicalNameString())
                .exec()
                .stream()
                .findAny()
                .isPresent();
    }
}
