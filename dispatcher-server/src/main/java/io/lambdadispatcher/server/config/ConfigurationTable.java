package io.lambdadispatcher.server.config;

/** The table of settings as Markdown. */
public final class ConfigurationTable {
    private ConfigurationTable() {}

    public static String markdown() {
        StringBuilder text = new StringBuilder();
        text.append("| setting | default | value | what it is |\n| --- | --- | --- | --- |\n");
        for (Setting<?> setting : Settings.ALL) {
            String byDefault = setting.defaultText();
            text.append("| `").append(setting.name()).append("` | ");
            text.append(byDefault == null || byDefault.isEmpty() ? "" : "`" + byDefault + "`")
                    .append(" | ");
            text.append(setting.type().expected()).append(" | ");
            text.append(setting.doc()).append(" |\n");
        }
        return text.toString();
    }
}
