// Asking before doing: what will happen, and why it is wanted. And signing in.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Person } from "./person";

export interface Asked {
  verb: string;
  target: "pool" | "rollout" | "node";
  name: string;
  wave?: string;
}

const effects: Record<string, string> = {
  "pool pause": "No new node starts. Nodes that are under way finish.",
  "pool resume": "Waiting nodes start again, within the limits.",
  "rollout pause": "No new node starts. Nodes that are under way finish.",
  "rollout resume": "The rollout goes on where it was.",
  "rollout promote": "The wave that waits for approval is approved, and the next one opens.",
  "rollout abort": "The waves are closed. Nodes stay as they are: some with the new driver, some with the old.",
  "rollout retry": "What is held is tried again.",
  "rollout rollback": "Every upgraded node goes back to the version before, wave by wave.",
  "node retry": "The node's upgrade begins again from the start.",
  "node skip": "The node is left out until somebody takes the mark away.",
  "node unskip": "The node takes part again.",
};
const grave = new Set(["rollout abort", "rollout rollback"]);

function Modal(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={props.onClose}>
      <h2 id="dialog-title">{props.title}</h2>
      {props.children}
    </dialog>
  );
}

export function ActionDialog({ asked, person, onClose, onDone }: {
  asked: Asked;
  person: Person;
  onClose: () => void;
  onDone: (text: string) => void;
}) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const kind = `${asked.target} ${asked.verb}`;
  const what = asked.name || "the pool of the ClusterPolicy";
  const verb = asked.verb[0]!.toUpperCase() + asked.verb.slice(1);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await person.act({ ...asked, reason });
      onDone(`${verb}: ${what} — asked for by ${person.access?.user ?? ""}`);
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
      setBusy(false);
    }
  };
  return (
    <Modal title={`${verb} ${what}${asked.wave ? `, wave ${asked.wave}` : ""}?`} onClose={onClose}>
      <form onSubmit={(event) => void send(event)}>
        <p>{effects[kind]}</p>
        <label for="reason">Why? It is kept with the change, with your name ({person.access?.user}).</label>
        <textarea id="reason" rows={3} required maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
        {error && <p class="error" role="alert">{error}</p>}
        <div class="row end">
          <button type="button" onClick={onClose}>Cancel</button>
          <button type="submit" class={grave.has(kind) ? "danger" : "primary"} disabled={busy || reason.trim() === ""}>{verb}</button>
        </div>
      </form>
    </Modal>
  );
}

export function SignInDialog({ person, onClose }: { person: Person; onClose: () => void }) {
  const [token, setToken] = useState(person.offered);
  const [fromLink] = useState(person.offered !== "");
  const [error, setError] = useState("");
  // Once shown, it is offered no more.
  person.offered = "";
  const send = async (event: Event) => {
    event.preventDefault();
    setError("");
    try {
      await person.signIn(token.trim());
      onClose();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
  };
  return (
    <Modal title="Sign in" onClose={onClose}>
      <form onSubmit={(event) => void send(event)}>
        <p>
          What you do here is done as you, with a token of the cluster. It is kept until this page is closed or loaded again.
          One for a service account: <code>kubectl create token NAME -n NAMESPACE</code>
        </p>
        {fromLink && (
          <p class="error" data-testid="from-link">
            The link that you opened brought this token. Sign in only if you trust where the link comes from: what you do
            here is then done as the user of this token.
          </p>
        )}
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="off" required value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        {error && <p class="error" role="alert">{error}</p>}
        <div class="row end">
          <button type="button" onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={token.trim() === ""}>Sign in</button>
        </div>
      </form>
    </Modal>
  );
}
