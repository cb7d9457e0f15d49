// Signing in with a token of the cluster. The token stays in this tab: in memory and in sessionStorage, which ends with
// it; it is sent with actions only, and never as part of an address.

export interface Access {
  user: string;
  allowed: Record<string, boolean>;
}

const key = "lockstep-token";
const headers = { "Content-Type": "application/json", "X-Lockstep-Request": "1" };

export class Person {
  access: Access | undefined;
  private token = "";

  constructor(private readonly changed: () => void) {}

  // A link may bring a token behind its #, which no server sees; it is taken off the address at once.
  async restore(): Promise<void> {
    const match = /^#token=([^&]+)$/.exec(location.hash);
    if (match) history.replaceState(null, "", location.pathname);
    const token = match ? decodeURIComponent(match[1]!) : (read() ?? "");
    if (token) await this.signIn(token).catch(() => this.signOut());
  }

  async signIn(token: string): Promise<void> {
    const answer = await fetch("/api/access", {
      method: "POST",
      headers: { ...headers, Authorization: `Bearer ${token}` },
    });
    const body = (await answer.json()) as Access & { error?: string };
    if (!answer.ok) throw new Error(body.error ?? `the server answers ${answer.status}`);
    this.token = token;
    this.access = body;
    try {
      sessionStorage.setItem(key, token);
    } catch {
      // Without storage it is asked for again after a reload.
    }
    this.changed();
  }

  signOut(): void {
    this.token = "";
    this.access = undefined;
    try {
      sessionStorage.removeItem(key);
    } catch {
      // Then there is nothing in it.
    }
    this.changed();
  }

  may(target: string): boolean {
    return this.access?.allowed[target] === true;
  }

  async act(action: { verb: string; target: string; name: string; wave?: string; reason: string }): Promise<void> {
    const answer = await fetch("/api/actions", {
      method: "POST",
      headers: { ...headers, Authorization: `Bearer ${this.token}` },
      body: JSON.stringify(action),
    });
    const body = (await answer.json()) as { error?: string };
    if (!answer.ok) throw new Error(body.error ?? `the server answers ${answer.status}`);
  }
}

function read(): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}
