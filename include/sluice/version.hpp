/// The version of the library these headers belong to.
#pragma once

#define SLUICE_VERSION "0.1.0"
