// Keys of gpg in a folder of its own: made, signed with, revoked and exported by the real program, which is the oracle for what we verify ourselves.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined } from '#lib/defined.ts'

const found = spawnSync('gpg', ['--version'], { encoding: 'utf8' })
/** Why tests with gpg cannot run here. */
export const noGpg: string | undefined = found.status === 0 ? undefined : 'this machine has no gpg'

export class OpenPgpHome {
  readonly folder = mkdtempSync(join(tmpdir(), 'kngpg-'))

  /** For git and gpg. */
  get env(): Readonly<Record<string, string>> {
    return { GNUPGHOME: this.folder, PATH: process.env['PATH'] ?? '', LC_ALL: 'C' }
  }

  gpg(args: readonly string[], input?: string | Buffer): string {
    const all = ['--batch', '--quiet', '--no-tty', '--pinentry-mode', 'loopback', '--passphrase', '', ...args]
    return execFileSync('gpg', all, {
      env: this.env,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
      ...defined({ input }),
    })
  }

  /** Its fingerprint. */
  newKey(name: string, algorithm: string, usage = 'sign', expires = 'never'): string {
    this.gpg(['--quick-gen-key', `${name} <${name}@example.org>`, algorithm, usage, expires])
    const [fingerprint = ''] = this.fingerprints(`${name}@example.org`)
    return fingerprint
  }

  /** Of the primary key first, then of its subkeys. */
  fingerprints(user: string): readonly string[] {
    const lines = this.gpg(['--with-colons', '--fingerprint', '--list-keys', user]).split('\n')
    return lines.filter((l) => l.startsWith('fpr:')).map((l) => l.split(':')[9] ?? '')
  }

  addSubkey(primary: string, algorithm: string, expires = 'never'): string {
    this.gpg(['--quick-add-key', primary, algorithm, 'sign', expires])
    return this.fingerprints(primary).at(-1) ?? ''
  }

  publicKey(fingerprint: string): string {
    return this.gpg(['--armor', '--export', fingerprint])
  }

  sign(fingerprint: string, content: Buffer, more: readonly string[] = []): string {
    return this.gpg(['--local-user', fingerprint, '--armor', '--detach-sign', ...more], content)
  }

  /** What gpg says in the lines for programs. */
  verify(signature: string, content: Buffer): string {
    const file = join(this.folder, 'signature.asc')
    writeFileSync(file, signature, 'latin1')
    const args = ['--batch', '--no-tty', '--status-fd', '1', '--verify', file, '-']
    return spawnSync('gpg', args, { env: this.env, input: content, encoding: 'utf8' }).stdout
  }

  /** With the revocation that gpg wrote when it made the key; a colon in front keeps people from importing it by accident. */
  revoke(fingerprint: string): void {
    const file = join(this.folder, 'openpgp-revocs.d', `${fingerprint}.rev`)
    this.gpg(['--import'], readFileSync(file, 'utf8').replace(/^:(-----BEGIN)/m, '$1'))
  }

  remove(): void {
    // The agent of this folder alone.
    spawnSync('gpgconf', ['--kill', 'all'], { env: this.env })
    rmSync(this.folder, { recursive: true, force: true })
  }
}
