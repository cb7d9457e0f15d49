// Writes what the controller knows into its ConfigMap, soon after a change and seldom: an upgrade
// without problems has nothing to publish, and needs only the first read.
#pragma once

#include <functional>
#include <optional>

#include "kube/api.h"
#include "kube/backoff.h"
#include "view/controller_notes.h"
#include "world/log.h"
#include "world/loop.h"
#include "world/random.h"

namespace lockstep::controller {

class NotesPublisher {
 public:
  using Collect = std::function<view::ControllerNotes()>;

  NotesPublisher(kube::Api& api, Loop& loop, Random& random, Log& log, ObjectKey key,
                 Collect collect);

  // From now on the notes are ours: what another replica has left is read, and replaced.
  void lead();
  void follow();
  // Something may have changed: within a second it is compared with what is published.
  void look();
  bool idle() const { return !busy_; }

 private:
  void work();
  void read();
  void write(view::ControllerNotes notes);
  void end(bool ok);

  kube::Api& api_;
  Loop& loop_;
  Log& log_;
  ObjectKey key_;
  Collect collect_;
  kube::Backoff backoff_;
  bool leading_ = false;
  bool busy_ = false;
  bool due_ = false;    // a timer is running
  bool again_ = false;  // something changed while a call was in progress
  bool exists_ = false;
  std::optional<view::ControllerNotes> published_;  // nothing: not known
  Scope scope_;
};

}  // namespace lockstep::controller
