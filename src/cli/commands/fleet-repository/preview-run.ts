// Takes a preview cluster for one commit, runs a command with its kubeconfig, and gives it back, also after Ctrl-C. It pushes and deletes only a branch that it
// made itself.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import { Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { clusterErrors } from '../../fleet/cluster-errors.ts'

export interface PreviewRun {
  readonly branch: string
  readonly command: readonly string[]
  /** Folder of the clone. */
  readonly repo: string
  readonly remote: string
  /** Once nothing is left of an earlier preview of the branch. */
  readonly forgotten: () => Promise<void>
  /** Once the commit is healthy in its cluster. */
  readonly kubeconfig: (commit: string, signal: AbortSignal) => Promise<string>
}

const GIT_MS = 60_000
/** Of a program that a signal ended. */
const BY_SIGNAL = 128
const ENDINGS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Ending = (typeof ENDINGS)[number]

export async function runInPreview(asked: PreviewRun, io: Io): Promise<void> {
  const { branch, remote } = asked
  const git = gitIn(resolve(io.cwd, asked.repo), branch)
  const commit = await git(['rev-parse', '--verify', 'HEAD^{commit}'])
  const ref = `refs/heads/${branch}`
  // Never the branch of another user: it is deleted at the end. A push of the commit that it has already would succeed.
  if ((await git(['ls-remote', remote, ref])) !== '') {
    const why = `${remote} has this branch already`
    throw new KubeNodeError(clusterErrors.KN1386({ branch: printableLine(branch), why }))
  }
  await asked.forgotten()
  await git(['push', '--quiet', `--force-with-lease=${ref}:`, remote, `${commit}:${ref}`])
  const stop = new AbortController()
  const ended = endings((signal) => stop.abort(new Exit(BY_SIGNAL + constants.signals[signal])))
  let end = 'is deleted'
  try {
    const kubeconfig = await asked.kubeconfig(commit, stop.signal).catch((error: unknown) => {
      showProblem(io, 'the command was not run\n')
      throw error
    })
    end = 'is deleted; its cluster is deleted next'
    stop.signal.throwIfAborted()
    const code = await withKubeconfig(kubeconfig, (file) => ran(asked.command, file, io))
    if (code !== 0) throw new Exit(code)
  } finally {
    await git(['push', '--quiet', `--force-with-lease=${ref}:${commit}`, remote, `:${ref}`]).then(
      () => io.err(shownLine(`${branch} ${end}`)),
      (error: unknown) =>
        showProblem(io, shownLine(`${messageOf(error)}; when it works again: git push ${remote} :${ref}`)),
    )
    ended.close()
  }
}

/** While this listens, the process does not end before its branch is deleted. */
function endings(heard: (signal: Ending) => void): { close(): void } {
  const listeners = ENDINGS.map((name) => [name, () => heard(name)] as const)
  for (const [name, listener] of listeners) process.on(name, listener)
  return {
    close: () => {
      for (const [name, listener] of listeners) process.off(name, listener)
    },
  }
}

async function withKubeconfig<T>(text: string, work: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-preview-'))
  try {
    const file = join(folder, 'kubeconfig')
    writeFileSync(file, text, { mode: 0o600 })
    return await work(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Without our own variables: what they name is the hub. */
const withoutOurs = (env: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('KUBENODE_')))

/** Its exit code, as a shell reports it. A terminal sends Ctrl-C to the command too; other signals are passed on. */
function ran([program = '', ...args]: readonly string[], kubeconfig: string, io: Io): Promise<number> {
  return new Promise((resolved, rejected) => {
    const child = spawn(program, args, {
      cwd: io.cwd,
      stdio: 'inherit',
      env: { ...withoutOurs({ ...process.env, ...io.env }), KUBECONFIG: kubeconfig },
    })
    const passed = endings((signal) => void (signal !== 'SIGINT' && child.kill(signal)))
    child.once('error', (cause) => {
      passed.close()
      const why = printableLine(messageOf(cause))
      rejected(new KubeNodeError(clusterErrors.KN1208_command({ command: printableLine(program), why }), { cause }))
    })
    child.once('close', (code, signal) => {
      passed.close()
      resolved(code ?? BY_SIGNAL + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}

const gitIn = (cwd: string, branch: string) => async (args: readonly string[]) => {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: '0' }
  try {
    const { stdout } = await promisify(execFile)('git', args, { cwd, env, timeout: GIT_MS })
    return stdout.trim()
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string }
    const why = printableLine(stderr.trim() || messageOf(cause))
    throw new KubeNodeError(clusterErrors.KN1386({ branch: printableLine(branch), why }), { cause })
  }
}
