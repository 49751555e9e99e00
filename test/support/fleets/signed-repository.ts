// A bare git repository and a clone of it in which the real git signs commits with SSH keys, as people do.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface CommitWish {
  /** Name of the key; undefined: unsigned. */
  readonly key: string | undefined
  readonly message?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Repositories of a few commits need no upkeep, which is three more programs for each push. */
const settingsFor = (signingKey: string): string => `[user]
	name = Ada
	email = ada@example.org
	signingkey = ${signingKey}
[gpg]
	format = ssh
[gc]
	auto = 0
[maintenance]
	auto = false
[receive]
	autogc = false
`

const COMMIT = `git add --all
git "$@"`

/** As a push, by programs that cost a quarter of it: both repositories have the same objects. */
const MOVE = `id=$(git rev-parse --verify "$1^{commit}")
git --git-dir="$BARE" update-ref refs/heads/main "$id"
echo "$id"`

export class SignedRepository {
  readonly folder: string
  readonly #env: Record<string, string>
  /** Read in place by the tests of the reader. */
  readonly bare: string
  readonly work: string

  constructor(keys: readonly string[] = ['ada', 'bob', 'eve']) {
    this.folder = mkdtempSync(join(tmpdir(), 'kubenode-signed-'))
    this.bare = join(this.folder, 'fleet.git')
    this.work = join(this.folder, 'work')
    this.#env = { PATH: process.env['PATH'] ?? '', HOME: this.folder, GIT_CONFIG_NOSYSTEM: '1' }
    for (const key of keys) this.addKey(key)
    writeFileSync(join(this.folder, '.gitconfig'), settingsFor(join(this.folder, 'ada')))
    this.#run(this.folder, 'git', ['init', '--quiet', '--bare', '--initial-branch=main', this.bare])
    this.#run(this.folder, 'git', ['clone', '--quiet', this.bare, this.work])
    const objects = join(this.work, '.git/objects')
    rmSync(objects, { recursive: true })
    symlinkSync(join(this.bare, 'objects'), objects)
    this.git('checkout', '--quiet', '-B', 'main')
  }

  get url(): string {
    return `file://${this.bare}`
  }

  addKey(name: string, type = 'ed25519'): void {
    this.#run(this.folder, 'ssh-keygen', ['-q', '-t', type, '-N', '', '-C', name, '-f', join(this.folder, name)])
  }

  publicKey(name: string): string {
    return readFileSync(join(this.folder, `${name}.pub`), 'utf8').trim()
  }

  fingerprint(name: string): string {
    return this.#run(this.folder, 'ssh-keygen', ['-l', '-f', join(this.folder, `${name}.pub`)]).split(' ')[1] ?? ''
  }

  git(...args: readonly string[]): string {
    return this.#run(this.work, 'git', args)
  }

  /** Arguments for a git command that signs. */
  signedBy(key: string): readonly string[] {
    return ['-c', `user.signingkey=${join(this.folder, key)}`]
  }

  write(files: Readonly<Record<string, string>>): void {
    this.#put(files)
    this.git('add', '--all')
  }

  #put(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.work, name)), { recursive: true })
      writeFileSync(join(this.work, name), text)
    }
  }

  /** Writes the files, commits them, moves the published branch there, whatever it was at, and returns the commit. */
  commit(files: Readonly<Record<string, string>>, { key, message = 'change', env = {} }: CommitWish): string {
    this.#put(files)
    return this.#script(`${COMMIT}\nset -- HEAD\n${MOVE}`, this.#committing(key, message), env)
  }

  /** As `commit`, on top of another commit and on no branch: a client that knows its id can read it in the bare repository. */
  commitAside(
    base: string,
    files: Readonly<Record<string, string>>,
    { key, message = 'change', env }: CommitWish,
  ): string {
    this.git('checkout', '--quiet', '--force', '--detach', base)
    this.#put(files)
    return this.#script(`${COMMIT}\ngit rev-parse HEAD`, this.#committing(key, message), env)
  }

  #committing(key: string | undefined, message: string): readonly string[] {
    const signed = key === undefined ? ['commit', '--no-gpg-sign'] : [...this.signedBy(key), 'commit', '-S']
    return [...signed, '--quiet', '--allow-empty', '-m', message]
  }

  /** A merge of these parents that has the files of one of them, whatever git would merge. */
  mergeAs(tree: string, parents: readonly string[], key: string): string {
    const named = parents.flatMap((parent) => ['-p', parent])
    return this.git(...this.signedBy(key), 'commit-tree', '-S', `${tree}^{tree}`, ...named, '-m', 'merge')
  }

  /** The work tree and the published branch are at this commit, whatever they were at. */
  moveTo(commit: string): void {
    this.#script(`git reset --quiet --hard "$1"\n${MOVE}`, [commit])
  }

  /** git in the work tree, with more in its environment. */
  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
    return this.#run(this.work, 'git', args, env)
  }

  /** git in the bare repository, with this as its input. */
  inBare(args: readonly string[], input?: Buffer): string {
    const stdio = 'pipe' as const
    const all = input === undefined ? {} : { input }
    return execFileSync('git', args, { cwd: this.bare, encoding: 'utf8', stdio, env: this.#env, ...all }).trim()
  }

  writeInBare(name: string, text: string): void {
    mkdirSync(dirname(join(this.bare, name)), { recursive: true })
    writeFileSync(join(this.bare, name), text)
  }

  removeInBare(name: string): void {
    rmSync(join(this.bare, name), { force: true })
  }

  /** The object of one id under the name of another. */
  copyInBare(from: string, to: string): void {
    const path = (id: string) => join(this.bare, 'objects', id.slice(0, 2), id.slice(2))
    mkdirSync(dirname(path(to)), { recursive: true })
    copyFileSync(path(from), path(to))
  }

  sign(key: string, content: Buffer, namespace: string): string {
    const args = ['-q', '-Y', 'sign', '-n', namespace, '-f', join(this.folder, key)]
    return execFileSync('ssh-keygen', args, { input: content, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] })
  }

  /** A file for git itself. */
  allowedSigners(): string {
    const file = join(this.folder, 'allowed_signers')
    writeFileSync(file, `ada@example.org ${this.publicKey('ada')}\n`)
    return file
  }

  push(force = false): void {
    this.git('push', '--quiet', ...(force ? ['--force'] : []), 'origin', 'HEAD:main')
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Several programs in one process of the test: starting one from a large process costs more than git itself. */
  #script(text: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
    const all = ['-e', '-c', text, 'sh', ...args]
    return this.#run(this.work, 'sh', all, { ...env, BARE: this.bare })
  }

  #run(cwd: string, program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
    const all = { ...this.#env, ...env }
    return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: all }).trim()
  }
}
