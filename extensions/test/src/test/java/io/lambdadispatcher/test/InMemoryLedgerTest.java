package io.lambdadispatcher.test;

import io.lambdadispatcher.core.spi.Ledger;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** Is here because the contract is in this artifact, which depends on the ledger's. */
class InMemoryLedgerTest extends LedgerContract {
    private final Map<String, ConcurrentMap<String, Ledger.Entry>> fleets = new ConcurrentHashMap<>();

    @Override
    protected Ledger open(String fleet) {
        return Ledger.inMemory(fleets.computeIfAbsent(fleet, name -> new ConcurrentHashMap<>()));
    }
}
