// The layer with KubeNode's programs: bundled for a fast start, with the sources and packages that the fleet cage loads, and the charts to install.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { entriesBelow } from '#lib/entries-below.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { FILE_MODE, PROGRAM_MODE, textFile, type TarEntry } from '#artifacts/oci/tar-entry.ts'
import { imageErrors } from './image-errors.ts'
import { READY_FOLDER } from '#agent/join/program-bundle.ts'
import { NODE_PATH } from './node-layer.ts'
import { isAsLocked, readNpmPackages } from './npm-packages.ts'

const APP = 'app'
export const PROGRAM_PATH = 'usr/local/bin/kubenode'
/** Of `src/install/package/build.ts`. */
const PROGRAMS = 'program'

export interface AppFolders {
  /** Root of the checkout. */
  readonly root: string
  /** Folder of the bundled programs. */
  readonly programs: string
  /** Folder of the bundled agent. */
  readonly agent: string
}

export const appLayer = ({ root, programs, agent }: AppFolders): readonly TarEntry[] => [
  ...filesOf(programs, `${APP}/${PROGRAMS}`),
  ...filesOf(agent, `${APP}/${READY_FOLDER}`),
  ...sourcesOf(root),
  ...packagesOf(root),
  fileAt(join(root, 'package.json'), `${APP}/package.json`),
  // Two lines that the kernel runs without a shell.
  textFile(`${APP}/${PROGRAMS}/kubenode.mjs`, `#!/${NODE_PATH}\nimport './main.mjs'\n`, PROGRAM_MODE),
  { kind: 'Link', path: PROGRAM_PATH, target: `/${APP}/${PROGRAMS}/kubenode.mjs` },
]

const fileAt = (from: string, path: string): TarEntry => ({
  kind: 'File',
  path,
  mode: FILE_MODE,
  content: () => readFileSync(from),
})

const filesOf = (from: string, to: string, isLeftOut: (path: string) => boolean = () => false): readonly TarEntry[] =>
  [...entriesBelow(from)]
    .filter(({ kind, path }) => kind === 'File' && !isLeftOut(path))
    .map(({ path }) => fileAt(join(from, path), `${to}/${path}`))

const isTest = (path: string): boolean => /\.test\.(ts|yaml)$|(^|\/)README\.md$|(^|\/)\./.test(path)

const sourcesOf = (root: string): readonly TarEntry[] =>
  ['src', 'deploy'].flatMap((folder) => filesOf(join(root, folder), `${APP}/${folder}`, isTest))

/** Files that no program reads: types, source maps, documents, binaries for other runtimes. */
const UNREAD = /\.(d\.[cm]?ts|map|md|markdown|bare|tsbuildinfo)$|(^|\/)(\.jsii|\.package-lock\.json)$/
const TYPES = /(^|\/)node_modules\/@types\//

function packagesOf(root: string): readonly TarEntry[] {
  const packages = readNpmPackages(root)
  const shipped = [...packages.locked].filter(([folder, p]) => !p.isExtra && !TYPES.test(folder)).map(([f]) => f)
  const other = shipped.find((folder) => !isAsLocked(packages, folder))
  if (other !== undefined) throw new KubeNodeError(imageErrors.KN1050_image({ folder: other, root }))
  // A nested package has its own entry in the list.
  return shipped.flatMap((folder) =>
    filesOf(join(root, folder), `${APP}/${folder}`, (path) => UNREAD.test(path) || /(^|\/)node_modules\//.test(path)),
  )
}
