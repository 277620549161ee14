// What these files are made for: PTO-ISA 1.0 and later 1.x, and CANN 8.0 and later.
//
// A build that knows its versions says so, and others are refused:
//   PTO_ISA_VERSION   100 * major + minor of the headers of PTO-ISA, such as 100 for 1.0;
//   CANN_MAJOR        as CANN's cann_version.h defines it, such as 8.
#pragma once

#if defined(PTO_ISA_VERSION) && (PTO_ISA_VERSION < 100 || PTO_ISA_VERSION >= 200)
#error "these files are for PTO-ISA 1.0 and later 1.x, and PTO_ISA_VERSION names another: emit them with a PTO-WSP for that version"
#endif

#if defined(CANN_MAJOR) && CANN_MAJOR < 8
#error "these files are for CANN 8.0 and later, and CANN_MAJOR names an earlier one: install a later CANN"
#endif
