package io.lambdadispatcher.it;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * A test that starts dispatchers, workers or browsers as programs for longer than half a minute of
 * processor time. These classes take 40 % of the processor time of all tests, so only CI runs them.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@EnabledIfSystemProperty(
        named = "it.programs",
        matches = "true",
        disabledReason = "the class starts programs for minutes; CI runs it, and so does mvn verify -Dit.programs")
public @interface StartsPrograms {}
