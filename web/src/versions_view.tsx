// The version matrix as Git has it, and who moved which version when.
import { clock, plural } from "./format";
import type { Matrix, MatrixEntry } from "./model";

const shortId = 12;

export function VersionsView({ matrices }: { matrices: Matrix[] }) {
  if (matrices.length === 0) return <NoMatrix />;
  return <>{matrices.map((matrix) => <MatrixCard key={`${matrix.repository} ${matrix.branch} ${matrix.path}`} matrix={matrix} />)}</>;
}

function NoMatrix() {
  return (
    <div class="card empty" data-testid="versions">
      <h2>No version matrix</h2>
      <p>
        No rollout takes its version from Git (<code>spec.matrix</code>). To see a matrix all the same, start this page
        with <code>lockstep dashboard --matrix-repo ADDRESS</code>.
      </p>
    </div>
  );
}

function MatrixCard({ matrix }: { matrix: Matrix }) {
  const title = `versions-${matrix.repository}-${matrix.path}`.replace(/[^\w-]+/g, "-");
  return (
    <section class="card" aria-labelledby={title} data-testid="versions">
      <h2 id={title}>{matrix.path}</h2>
      <p class="muted breaks">
        {matrix.repository}{matrix.branch && ` (${matrix.branch})`}{matrix.commit && `, commit ${matrix.commit.slice(0, shortId)}`}
        {matrix.rollouts.length > 0 && ` · ${matrix.rollouts.length === 1 ? "rollout" : "rollouts"} ${matrix.rollouts.join(", ")}`}
      </p>
      {matrix.error && <p class="why why-failed" role="alert">It cannot be read now: {matrix.error}{matrix.commit && ". What you see is old."}</p>}
      {!matrix.readable && (
        <p class="why">
          This page was not told to ask that repository. <code>lockstep dashboard --matrix-repo {matrix.repository}</code> does, with your own git settings.
        </p>
      )}
      {matrix.readable && !matrix.commit && !matrix.error && <p class="muted">Being read …</p>}
      {matrix.versions && <Versions versions={matrix.versions} />}
      {matrix.history && <Past history={matrix.history} older={matrix.older ?? false} />}
    </section>
  );
}

function Versions({ versions }: { versions: NonNullable<Matrix["versions"]> }) {
  return (
    <table class="versions">
      <thead><tr><th scope="col">Version</th><th scope="col">Current</th><th scope="col">Canary</th></tr></thead>
      <tbody>
        {versions.map(({ key, current, canary }) => (
          <tr key={key}>
            <th scope="row">{key}</th>
            <td>{current || "–"}</td>
            <td>{canary && canary !== current && key !== "status" ? <strong>{canary}</strong> : canary || "–"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Past({ history, older }: { history: MatrixEntry[]; older: boolean }) {
  return (
    <>
      <h3>Who moved what</h3>
      <ol class="plain past">
        {history.map((entry) => (
          <li key={entry.commit}>
            <p>
              <time class="muted" dateTime={new Date(entry.at).toISOString()}>{clock(entry.at)}</time> <strong>{entry.author}</strong>: {entry.subject} <code>{entry.commit.slice(0, shortId)}</code>
            </p>
            {entry.takesBack.length > 0 && <p>↩ takes back {entry.takesBack.map((commit) => <code key={commit}>{commit.slice(0, shortId)}</code>)}</p>}
            {entry.changes.length === 0 && <p class="muted">no version moved</p>}
            <ul class="plain moves">
              {entry.changes.map((change) => (
                <li key={change.slot + change.key}>
                  {change.slot} {change.key}: {change.before || "–"} → <strong>{change.after || "–"}</strong>
                </li>
              ))}
            </ul>
            {entry.body && <details><summary>Why it was done</summary><pre>{entry.body}</pre></details>}
          </li>
        ))}
      </ol>
      {older && <p class="muted">Older ones than these {plural(history.length, "commit")} are in the repository: <code>git log -- FILE</code></p>}
    </>
  );
}
