/* What every plugin begins with: its version, and how its functions are seen. */

#ifndef PERP_SRC_EXTERNAL_PLUGINS_PLUGIN_H
#define PERP_SRC_EXTERNAL_PLUGINS_PLUGIN_H

#define PERP_PLUGIN __attribute__((visibility("default")))

extern PERP_PLUGIN const char perp_plugin_version[];
const char perp_plugin_version[] = PERP_VERSION;

#endif
