/**
 * Tests with containers: LocalStack, Lambda's runtime interface emulator, and the images of this
 * project.
 */
package io.lambdadispatcher.it.docker;
