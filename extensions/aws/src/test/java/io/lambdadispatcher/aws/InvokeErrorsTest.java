package io.lambdadispatcher.aws;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.util.List;
import java.util.Set;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.services.lambda.model.LambdaException;

/** The table of errors against the types of the SDK, which its authors generate from the model. */
class InvokeErrorsTest {
    /** Errors that the API reference lists only for operations other than Invoke. */
    private static final Set<String> OF_OTHER_OPERATIONS = Set.of(
            "AliasLimitExceededException",
            "CallbackTimeoutException",
            "CapacityProviderLimitExceededException",
            "CodeSigningConfigNotFoundException",
            "CodeStorageExceededException",
            "CodeVerificationFailedException",
            "FunctionVersionsPerCapacityProviderLimitExceededException",
            "InvalidCodeSignatureException",
            "PolicyLengthExceededException",
            "PreconditionFailedException",
            "ProvisionedConcurrencyConfigNotFoundException",
            "PublicPolicyException",
            "ResourceInUseException");

    @Test
    void should_know_what_each_error_of_the_sdk_means() throws Exception {
        String model = LambdaException.class.getPackageName().replace('.', '/') + "/";
        File jar = new File(LambdaException.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        List<String> errors;
        try (JarFile sdk = new JarFile(jar)) {
            errors = sdk.stream()
                    .map(entry -> entry.getName())
                    .filter(name -> name.startsWith(model) && name.endsWith("Exception.class"))
                    .map(name -> name.substring(model.length(), name.length() - ".class".length()))
                    .filter(name -> !name.equals(LambdaException.class.getSimpleName()))
                    .toList();
        }
        assertThat(errors).hasSizeGreaterThan(40);
        assertThat(errors)
                .filteredOn(error -> InvokeOutcome.ofCode(error) == null)
                .containsExactlyInAnyOrderElementsOf(OF_OTHER_OPERATIONS);
    }
}
