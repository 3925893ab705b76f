#include "faces/push_text.h"

namespace ordo {

std::string rejected_push_json(ObjectText object, const Pushed& pushed) {
  object.name("existing", pushed.id);
  if (pushed.until) object.time("until", *pushed.until);
  return object.end();
}

}  // namespace ordo
