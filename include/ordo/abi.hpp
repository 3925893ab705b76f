#pragma once

// How a program must be compiled to fit the library. Every public header includes it.

#if defined(_GLIBCXX_DEBUG) && !defined(ORDO_BUILT_WITH_GLIBCXX_DEBUG)
#error "the library was built without _GLIBCXX_DEBUG, which changes its types: use _GLIBCXX_ASSERTIONS"
#endif
