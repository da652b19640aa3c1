/**
 * Tests against real parts in containers: LocalStack, Lambda's runtime emulator, the product's own
 * images.
 */
package io.lambdadispatcher.it.docker;
