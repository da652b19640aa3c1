package io.lambdadispatcher.server;

import io.lambdadispatcher.aws.DynamoDbLedger;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.http.PrintableText;
import java.io.PrintWriter;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;

/** Creates the table of a fleet, and prints what a dispatcher needs to use it. */
final class FleetInitCommand extends SettingsCommand {
    FleetInitCommand(Map<String, String> environment) {
        super(
                "fleet init",
                "Creates the DynamoDB table fleet.table, which the dispatchers of a fleet share. A table that exists"
                        + " remains unchanged. The command needs the IAM actions dynamodb:DescribeTable and"
                        + " dynamodb:CreateTable.",
                EnumSet.of(BasicSetting.FLEET),
                Map.of(),
                environment);
    }

    /** A table can be created before anything else is configured. */
    @Override
    boolean serves() {
        return false;
    }

    @Override
    int run(Configuration configuration, PrintWriter out, PrintWriter err) {
        String name = configuration.find(Settings.FLEET_TABLE);
        if (name == null) {
            return refuse(
                    err,
                    "fleet.table: expected " + Settings.FLEET_TABLE.type().expected() + ", but it is not set",
                    ExitCode.USAGE);
        }
        if (configuration.fleetFile() != null) {
            return refuse(
                    err,
                    "fleet.table: expected a DynamoDB table, got the file \"" + name
                            + "\", which the first dispatcher creates",
                    ExitCode.USAGE);
        }
        DynamoDbLedger.Table table;
        try {
            table = new DispatcherAssembly(configuration).ledgerTable().createTable();
        } catch (RuntimeException e) {
            return refuse(err, "fleet.table: " + PrintableText.ofFailure(e), ExitCode.FAILED);
        }
        out.println(
                table.created()
                        ? "Created the table " + table.arn() + " with on-demand billing."
                        : "The table " + table.arn() + " exists and has the right keys. Nothing was changed.");
        out.println(
                "Set fleet.table to " + name + " for each dispatcher of the fleet, and add this to its IAM policy:");
        out.println("{\"Effect\": \"Allow\", \"Action\": [\"" + String.join("\", \"", DynamoDbLedger.ACTIONS)
                + "\"], \"Resource\": \"" + table.arn()
                + "\", \"Condition\": {\"ForAllValues:StringEquals\": {\"dynamodb:LeadingKeys\": "
                + Json.write(List.of(configuration.get(Settings.FLEET_NAME))) + "}}}");
        out.flush();
        return ExitCode.OK;
    }

    private static int refuse(PrintWriter err, String message, int exitCode) {
        err.println(message);
        err.flush();
        return exitCode;
    }
}
