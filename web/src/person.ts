// Signing in with a token of the cluster. The token is in this page's memory alone: whatever serves this address after a
// reload, or after the server has gone, does not get it. It is sent with actions only, and never as part of an address.

export interface Access {
  user: string;
  allowed: Record<string, boolean>;
}

const headers = { "Content-Type": "application/json", "X-Lockstep-Request": "1" };

export class Person {
  access: Access | undefined;
  // What a link brought. It signs in only when the user says so: a link of another user's would otherwise make the user
  // act as that one.
  offered = "";
  private token = "";

  // `reachable`: the server that was signed in to is still the one that answers.
  constructor(
    private readonly changed: () => void,
    private readonly reachable: () => boolean,
  ) {}

  // A link may bring a token behind its #, which no server sees; it is taken off the address at once.
  takeLink(): void {
    const match = /^#token=([^&]+)$/.exec(location.hash);
    if (!match) return;
    history.replaceState(null, "", location.pathname);
    try {
      this.offered = decodeURIComponent(match[1]!);
    } catch {
      // Broken escapes: there is no token in it.
    }
  }

  async signIn(token: string): Promise<void> {
    this.mustReach();
    const answer = await fetch("/api/access", {
      method: "POST",
      headers: { ...headers, Authorization: `Bearer ${token}` },
    });
    const body = (await answer.json()) as Access & { error?: string };
    if (!answer.ok) throw new Error(body.error ?? `the server answers ${answer.status}`);
    this.token = token;
    this.access = body;
    this.changed();
  }

  signOut(): void {
    if (this.token === "" && this.access === undefined) return;
    this.token = "";
    this.access = undefined;
    this.changed();
  }

  private mustReach(): void {
    if (!this.reachable()) throw new Error("the dashboard's server does not answer; nothing was sent");
  }

  may(target: string): boolean {
    return this.access?.allowed[target] === true;
  }

  async act(action: { verb: string; target: string; name: string; wave?: string; reason: string }): Promise<void> {
    this.mustReach();
    const answer = await fetch("/api/actions", {
      method: "POST",
      headers: { ...headers, Authorization: `Bearer ${this.token}` },
      body: JSON.stringify(action),
    });
    const body = (await answer.json()) as { error?: string };
    if (!answer.ok) throw new Error(body.error ?? `the server answers ${answer.status}`);
  }
}
