// Everything of others that a release is made of, as the lock files name it: npm packages, the Node.js of hosts, packages of Debian. Pure.
import type { Architecture, DebianLock } from '#install/image/debian-lock.ts'
import { NODE_PACKAGES } from '#install/image/node-layer.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'

export interface Component {
  readonly name: string
  readonly version: string
  /** As package managers and scanners name it everywhere. */
  readonly purl: string
  readonly digest: { readonly algorithm: 'sha256' | 'sha512'; readonly hex: string }
  /** As its authors declare it: an expression of npm, or the short names of Debian. */
  readonly licenses: readonly string[]
  readonly kind: 'npm' | 'debian'
  /** Packages that only build, and programs for machines that no release runs on, are not shipped. */
  readonly isShipped: boolean
  /** Of what is for one architecture alone. */
  readonly architecture?: Architecture
}

type Entry = Readonly<Record<string, unknown>>

const isExtra = ({ dev, optional, devOptional, peer }: Entry): boolean =>
  [dev, optional, devOptional, peer].includes(true)

/** `locked`: the entries of package-lock.json by folder. One entry for a version, however often it is installed. */
export function npmComponents(locked: Readonly<Record<string, unknown>>): readonly Component[] {
  const found = new Map<string, Component>()
  for (const [folder, entry] of Object.entries(locked)) {
    if (folder === '' || !isObject(entry) || typeof entry['integrity'] !== 'string') continue
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const version = String(entry['version'])
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    const architecture = (['amd64', 'arm64'] as const).find((a) => NODE_PACKAGES[a] === name)
    const isShipped = !isExtra(entry) || architecture !== undefined || found.get(purl)?.isShipped === true
    found.set(purl, {
      name,
      version,
      purl,
      digest: { algorithm: 'sha512', hex: hexOf(entry['integrity']) },
      licenses: typeof entry['license'] === 'string' ? [entry['license']] : [],
      kind: 'npm',
      isShipped,
      ...defined({ architecture }),
    })
  }
  return inOrder([...found.values()])
}

const hexOf = (integrity: string): string =>
  Buffer.from(integrity.slice(integrity.indexOf('-') + 1), 'base64').toString('hex')

export const debianComponents = ({ release, packages }: DebianLock): readonly Component[] =>
  inOrder(
    (['amd64', 'arm64'] as const).flatMap((architecture) =>
      packages[architecture].map(({ name, version, sha256, licenses }) => ({
        name,
        version,
        purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-${release}`,
        digest: { algorithm: 'sha256' as const, hex: sha256 },
        licenses,
        kind: 'debian' as const,
        isShipped: true,
        architecture,
      })),
    ),
  )

const inOrder = (all: readonly Component[]): readonly Component[] =>
  all.toSorted((a, b) => (a.purl < b.purl ? -1 : a.purl > b.purl ? 1 : 0))
