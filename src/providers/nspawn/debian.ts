// Downloads components of systemd machines as Debian packages with this machine's apt, and builds archives that match the signed digests. Installs nothing
// here.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { lastLine } from '#lib/last-line.ts'
import { debianErrors } from './debian-errors.ts'

const run = promisify(execFile)

/** Component (also its recipe's name) → package. */
const PACKAGES: Readonly<Record<string, string>> = {
  runc: 'runc',
  'cni-plugins': 'containernetworking-plugins',
  containerd: 'containerd',
  'node-exporter': 'prometheus-node-exporter',
  chrony: 'chrony',
}
const APT_WITHIN_MS = 300_000

/** Same as `kubenode artifact from-deb`. */
export interface DebianTools {
  /** Debian's version as a component version. */
  readonly versionOf: (debian: string) => string
  /** Returns the digest of the archive, stored below `artifacts` as its statement names it. */
  readonly make: (recipe: string, deb: string, artifacts: string) => Promise<{ readonly sha256: string }>
}

export interface Wanted {
  readonly component: string
  readonly version: string
  readonly url: string
  readonly sha256: string
  readonly size: number
}

export interface DebianStore {
  /** Downloaded packages stay here. */
  readonly cache: string
  readonly artifacts: string
  readonly tools: DebianTools
  readonly print: (line: string) => void
}

/** False if Debian no longer has the version and it is not cached: agents cannot install it. */
export async function provideFromDebian(wanted: Wanted, store: DebianStore, signal?: AbortSignal): Promise<boolean> {
  const { component, version, url, sha256, size } = wanted
  const target = join(store.artifacts, url)
  if (existsSync(target) && statSync(target).size === size) return true
  const name = PACKAGES[component]
  if (name === undefined) return false
  mkdirSync(store.cache, { recursive: true })
  const deb = await fetched(name, version, store, signal)
  if (deb === undefined) {
    store.print(`note: Debian no longer has ${component} ${version}, so no machine can install it`)
    return false
  }
  store.print(`packing ${component} ${version} of Debian`)
  const made = await store.tools.make(component, deb, store.artifacts)
  if (made.sha256 === sha256) return true
  const [packed, signed] = [made.sha256, sha256].map((digest) => digest.slice(0, 12))
  throw new KubeNodeError(
    debianErrors.KN1108_source({
      component,
      version,
      source: deb,
      packedDigest: packed ?? '',
      file: `${component}-${version}.json`,
      signedDigest: signed ?? '',
    }),
  )
}

async function fetched(
  name: string,
  version: string,
  { cache, tools }: DebianStore,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const apt = async (program: string, args: readonly string[]): Promise<string> => {
    try {
      // apt's download user cannot write into this folder.
      const all = ['-qq', '-o', 'APT::Sandbox::User=root', ...args]
      const { stdout } = await run(program, all, { cwd: cache, timeout: APT_WITHIN_MS, ...defined({ signal }) })
      return stdout
    } catch (cause) {
      throw new KubeNodeError(debianErrors.KN1226({ name, version, why: lastLine(cause) }), { cause })
    }
  }
  const listed = (await apt('apt-cache', ['madison', name])).split('\n')
  const versions = [...new Set(listed.flatMap((line) => line.split('|')[1]?.trim() ?? []))]
  if (versions.length === 0)
    throw new KubeNodeError(debianErrors.KN1226({ name, version, why: 'apt does not know the package' }))
  const found = versions.find((v) => tools.versionOf(v) === version)
  if (found === undefined) return undefined
  const here = () => readdirSync(cache).find((f) => f.startsWith(`${name}_${found.replaceAll(':', '%3a')}_`))
  if (here() === undefined) await apt('apt-get', ['download', `${name}=${found}`])
  const file = here()
  return file === undefined ? undefined : join(cache, file)
}
