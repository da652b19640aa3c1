package io.lambdadispatcher.server.config;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Settings that belong together. Declaring one adds it to its topic, and so to the table. */
public final class SettingTopic {
    private final String title;
    private final List<Setting<?>> settings = new ArrayList<>();

    SettingTopic(String title) {
        this.title = title;
    }

    <T> Declaration<T> setting(String name, ValueType<T> type) {
        return new Declaration<>(name, type, null);
    }

    <T> Declaration<T> setting(String name, ValueType<T> type, @Nullable String defaultText) {
        return new Declaration<>(name, type, defaultText);
    }

    /** All of a setting except its documentation. */
    final class Declaration<T> {
        private final String name;
        private final ValueType<T> type;
        private final @Nullable String defaultText;
        private boolean ofRoutes;
        private boolean reloads;

        private Declaration(String name, ValueType<T> type, @Nullable String defaultText) {
            this.name = name;
            this.type = type;
            this.defaultText = defaultText;
        }

        /** A reload can change it. */
        Declaration<T> reloads() {
            reloads = true;
            return this;
        }

        /** Each route of a function can have a value of its own, and a reload can change it. */
        Declaration<T> ofRoutes() {
            ofRoutes = true;
            return reloads();
        }

        Setting<T> doc(String doc) {
            Setting<T> setting = new Setting<>(name, type, defaultText, ofRoutes, reloads, doc);
            settings.add(setting);
            return setting;
        }
    }

    public String title() {
        return title;
    }

    public List<Setting<?>> settings() {
        return Collections.unmodifiableList(settings);
    }
}
