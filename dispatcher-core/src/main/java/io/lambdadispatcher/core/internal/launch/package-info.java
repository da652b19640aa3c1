/**
 * Tracks the connected and launched workers, and launches and drains workers as capacity control
 * decides.
 */
@NullMarked
package io.lambdadispatcher.core.internal.launch;

import org.jspecify.annotations.NullMarked;
