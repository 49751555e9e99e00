// Real programs out of Debian's packages: fetched by apt, unpacked, never installed on this machine.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Suite = 'bookworm' | 'trixie'

/** Kept between runs: a mirror need not be asked twice. */
const CACHE = join(tmpdir(), 'kubenode-debs')
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** The mirror that this machine's own apt asks. */
function mirror(): string | undefined {
  const folder = '/etc/apt/sources.list.d'
  const files = [
    '/etc/apt/sources.list',
    ...(existsSync(folder) ? readdirSync(folder).map((f) => join(folder, f)) : []),
  ]
  const text = files.filter((f) => existsSync(f)).map((f) => readFileSync(f, 'utf8'))
  return /^[^#\n]*?(https?:\/\/\S+\/debian)\/?(?:\s|$)/m.exec(text.join('\n'))?.[1]
}

/** An apt of its own for a suite: neither its suites nor its lists are this machine's. */
function optionsFor(suite: Suite, from: string): readonly string[] {
  const home = join(CACHE, suite)
  for (const folder of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(home, folder), { recursive: true })
  writeFileSync(join(home, 'sources.list'), `deb [signed-by=${KEYRING}] ${from} ${suite} main\n`)
  return [
    ['Dir::Etc::sourcelist', join(home, 'sources.list')],
    ['Dir::Etc::sourceparts', '-'],
    ['Dir::State::lists', join(home, 'lists')],
    ['Dir::Cache', join(home, 'cache')],
    ['APT::Sandbox::User', 'root'],
    ['APT::Get::List-Cleanup', '0'],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`])
}

/** The folder with the unpacked package, or undefined when it cannot be had. */
export function unpackedDeb(suite: Suite, name: string): string | undefined {
  const folder = join(CACHE, suite, `unpacked-${name}`)
  if (existsSync(folder)) return folder
  const from = mirror()
  if (from === undefined) return undefined
  const options = optionsFor(suite, from)
  const apt = (...args: string[]) =>
    spawnSync('apt-get', ['-qq', ...options, ...args], { cwd: join(CACHE, suite), timeout: 120_000, encoding: 'utf8' })
  if (readdirSync(join(CACHE, suite, 'lists')).length < 2 && apt('update').status !== 0) return undefined
  if (apt('download', name).status !== 0) return undefined
  const deb = readdirSync(join(CACHE, suite)).find((f) => f.startsWith(`${name}_`) && f.endsWith('.deb'))
  if (deb === undefined) return undefined
  const partial = `${folder}.${process.pid}`
  rmSync(partial, { recursive: true, force: true })
  if (spawnSync('dpkg-deb', ['-x', join(CACHE, suite, deb), partial]).status !== 0) return undefined
  if (existsSync(folder)) rmSync(partial, { recursive: true })
  else renameSync(partial, folder)
  return folder
}

export const programOf = (folder: string, path: string): Buffer => readFileSync(join(folder, path))
