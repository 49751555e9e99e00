// The bottom layer of the image: only what Node.js, git and ssh need from Debian's packages, CA certificates and time zones; no shell.
import { readDeb, type Deb } from '#artifacts/oci/deb.ts'
import { neededFiles } from '#artifacts/oci/needed-files.ts'
import { FILE_MODE, textFile, type TarEntry, type TarFile } from '#artifacts/oci/tar-entry.ts'

/** User and group of every program in the image. */
export const IMAGE_USER = 65_532
const CERTIFICATES = 'etc/ssl/certs/ca-certificates.crt'
const TEMPORARY = 0o1777

/** sync runs git and ssh. prlimit sets their limits, because there is no shell to do it. */
const PROGRAMS = ['usr/bin/git', 'usr/lib/git-core/git-remote-https', 'usr/bin/ssh', 'usr/bin/prlimit']

/** Packages wanted for themselves; their libraries follow. */
export const WANTED = [
  'base-files',
  'ca-certificates',
  'git',
  'libatomic1',
  'libc6',
  'libgcc-s1',
  'libstdc++6',
  'openssh-client',
  'tzdata',
  'util-linux',
]

/** Files that programs read. Two other forms of the same time zones are left out. */
const DATA = [
  /^etc\/(debian_version|host\.conf|os-release)$/,
  /^usr\/lib\/os-release$/,
  /^usr\/share\/zoneinfo\/(?!posix\/|right\/)/,
]
const AUTHORITY = /^usr\/share\/ca-certificates\/mozilla\/[^/]+\.crt$/

export interface NamedDeb extends Deb {
  readonly name: string
}

export const namedDeb = async (name: string, bytes: Buffer): Promise<NamedDeb> => ({
  name,
  ...(await readDeb(name, bytes)),
})

export interface BaseLayer {
  readonly entries: readonly TarEntry[]
  /** Packages that contributed files. */
  readonly packages: readonly string[]
}

export function baseLayer(architecture: string, debs: readonly NamedDeb[], node: TarFile): BaseLayer {
  const all = debs.flatMap((d) => d.entries)
  const needed = new Set<TarEntry>(neededFiles({ architecture, entries: all, programs: PROGRAMS, others: [node] }))
  const isTaken = (e: TarEntry) => needed.has(e) || (e.kind !== 'Folder' && DATA.some((d) => d.test(e.path)))
  const used = debs.filter((d) => d.entries.some((e) => isTaken(e) || AUTHORITY.test(e.path)))
  return {
    packages: used.map((d) => d.name),
    entries: [...used.flatMap((d) => [...d.entries.filter(isTaken), ...recordsOf(d)]), ...ownFiles(authoritiesIn(all))],
  }
}

/** The records that scanners expect in images without a package manager, and the license. */
function recordsOf({ name, control, entries }: NamedDeb): readonly TarEntry[] {
  const license = entries.find((e) => e.kind === 'File' && e.path === `usr/share/doc/${name}/copyright`)
  return [textFile(`var/lib/dpkg/status.d/${name}`, `${control}\n`), ...(license === undefined ? [] : [license])]
}

/** Same result as update-ca-certificates: the CAs concatenated in order of name. */
function authoritiesIn(entries: readonly TarEntry[]): string {
  const files = entries.filter((e): e is TarFile => e.kind === 'File' && AUTHORITY.test(e.path))
  const inOrder = files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  return inOrder.map((f) => `${f.content().toString('latin1').trim()}\n`).join('')
}

const ownFiles = (authorities: string): readonly TarEntry[] => [
  textFile(CERTIFICATES, authorities, FILE_MODE),
  textFile(
    'etc/passwd',
    `root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:${IMAGE_USER}:${IMAGE_USER}:nonroot:/tmp:/sbin/nologin\n`,
  ),
  textFile('etc/group', `root:x:0:\nnonroot:x:${IMAGE_USER}:\n`),
  textFile('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n'),
  { kind: 'Folder', path: 'tmp', mode: TEMPORARY },
]

/** For programs that find the CAs through a variable. */
export const CERTIFICATES_PATH = `/${CERTIFICATES}`
