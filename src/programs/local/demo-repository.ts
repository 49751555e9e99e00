// Builds the demo repository as a user would have it: the files of `kubenode init` with the demo's fleet and rules, and a short history. Pure except for
// reading the release.
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { entriesBelow } from '#lib/entries-below.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { localErrors } from './local-errors.ts'

interface DemoFile {
  readonly bytes: Buffer
  readonly isProgram: boolean
}
/** By path in the repository. */
export type DemoFiles = ReadonlyMap<string, DemoFile>

export interface DemoCommit {
  readonly subject: string
  /** Files the commit changes. */
  readonly files: DemoFiles
}

interface Step {
  readonly subject: string
  /** Lines of files that differ in this commit from their current content; `null` restores the current content. */
  readonly files?: Readonly<Record<string, readonly string[] | null>>
}

/** Copied from the template unchanged. */
const OF_TEMPLATE: readonly string[] = ['dot-gitignore', 'dot-github/workflows/check.yml']
const CHECK = 'check.sh'
const CLUSTERS = 'fleet/clusters/clusters.json'
const TSCONFIG = 'tsconfig.json'
const FOLDERS = ['fleet', 'rules'] as const
const README = 'fleet/README.md'
const HISTORY = 'fleet/history.json'
/** Recorded in clusters that the demo does not have. */
const HISTORIES = 'history/'
/** Editor leftovers and the release's tests. */
const isLeftOut = (path: string): boolean =>
  path.endsWith('.test.ts') || path.startsWith(HISTORIES) || /(^|\/)\.|~$/.test(path)
export const DEMO_BRANCH = 'main'
const AUTHOR = 'KubeNode demo <demo@kubenode.io>'
const DAY_SECONDS = 86_400

export function demoFiles(root: string): DemoFiles {
  const files = new Map<string, DemoFile>()
  const add = (from: string, to: string): void => {
    const path = join(root, from)
    files.set(to, { bytes: readFileSync(path), isProgram: (lstatSync(path).mode & 0o100) !== 0 })
  }
  if (!existsSync(join(root, 'fleet/main.ts'))) throw new KubeNodeError(localErrors.KN1231({ root }))
  for (const path of OF_TEMPLATE) add(`template/${path}`, path.replace(/^dot-/, '.'))
  for (const folder of FOLDERS)
    for (const { kind, path } of entriesBelow(join(root, folder)))
      if (kind === 'File' && !isLeftOut(path) && ![README, HISTORY].includes(`${folder}/${path}`))
        add(`${folder}/${path}`, `${folder}/${path}`)
  add(README, 'README.md')
  // The hub of the demo has no machines.
  const [cluster = ''] = Object.keys(JSON.parse(readFileSync(join(root, CLUSTERS), 'utf8')) as object)
  const check = readFileSync(join(root, 'template', CHECK), 'utf8').replace(
    '--fleet-cluster hub',
    `--fleet-cluster ${cluster}`,
  )
  files.set(CHECK, { bytes: Buffer.from(check), isProgram: true })
  // A packed release ships declarations. A checkout has only the sources, which use Node.js types.
  const config = readFileSync(join(root, 'template', TSCONFIG), 'utf8').replace('"types": []', '"types": ["node"]')
  files.set(TSCONFIG, { bytes: Buffer.from(config), isProgram: false })
  const manifest = {
    name: 'demo-fleet',
    private: true,
    type: 'module',
    scripts: { check: './check.sh' },
    devDependencies: { kubenode: `file:${root}` },
  }
  files.set('package.json', { bytes: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`), isProgram: false })
  return files
}

/** The first commit has every file; the last one leaves each with its current content. */
export function demoHistory(files: DemoFiles, steps: readonly Step[]): readonly DemoCommit[] {
  const state = new Map<string, string>()
  const commits = steps.map(({ subject, files: changed = {} }, at): DemoCommit => {
    const made = new Map<string, DemoFile>(at === 0 ? files : [])
    for (const [path, lines] of Object.entries(changed)) {
      const now = files.get(path)
      if (now === undefined) throw new Error(`the history of the demo names ${path}, which the demo does not have`)
      made.set(path, lines === null ? now : { ...now, bytes: Buffer.from(`${lines.join('\n')}\n`) })
      if (lines === null) state.delete(path)
      else state.set(path, subject)
    }
    return { subject, files: made }
  })
  const [left] = state.keys()
  if (left !== undefined) throw new Error(`the history of the demo does not end with ${left} as it is`)
  return commits
}

export const demoCommits = (root: string): readonly DemoCommit[] =>
  demoHistory(demoFiles(root), JSON.parse(readFileSync(join(root, HISTORY), 'utf8')) as readonly Step[])

/** Input for `git fast-import`: one commit a day, the last one dated now. */
export function importStream(commits: readonly DemoCommit[], nowMs: number): Buffer {
  const now = Math.floor(nowMs / 1_000)
  const parts: (string | Buffer)[] = []
  const data = (bytes: Buffer): void => void parts.push(`data ${bytes.length}\n`, bytes, '\n')
  for (const [at, { subject, files }] of commits.entries()) {
    const time = now - (commits.length - 1 - at) * DAY_SECONDS
    parts.push(`commit refs/heads/${DEMO_BRANCH}\n`)
    for (const who of ['author', 'committer']) parts.push(`${who} ${AUTHOR} ${time} +0000\n`)
    data(Buffer.from(`${subject}\n`))
    for (const [path, { bytes, isProgram }] of files) {
      parts.push(`M ${isProgram ? '100755' : '100644'} inline ${path}\n`)
      data(bytes)
    }
  }
  return Buffer.concat(parts.map((p) => (typeof p === 'string' ? Buffer.from(p) : p)))
}
