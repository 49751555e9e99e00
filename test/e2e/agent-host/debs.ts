// Real programs out of Debian's packages: fetched by apt, unpacked, never installed on this machine.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Suite = 'bookworm' | 'trixie'

/** Kept between runs: a mirror need not be asked twice. */
const CACHE = join(tmpdir(), 'kubenode-debs')
/** For an apt that fetches packages over a slow network, and for those in front of it. */
const TURN_S = 240
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

/** An apt of its own for a suite: neither its suites nor its lists nor its packages are this machine's. */
function optionsFor(suite: Suite, from: string, home = join(CACHE, suite)): readonly string[] {
  for (const folder of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(home, folder), { recursive: true })
  const lines = [
    `${from} ${suite}`,
    ...(home.endsWith(FULL) ? [`${from} ${suite}-updates`, `${from}-security ${suite}-security`] : []),
  ]
  writeFileSync(join(home, 'sources.list'), lines.map((line) => `deb [signed-by=${KEYRING}] ${line} main\n`).join(''))
  // Else apt would look for the very version that is installed here, such as an update that the suite does not have.
  writeFileSync(join(home, 'status'), '')
  return [
    ['Dir::State::status', join(home, 'status')],
    ['Dir::Etc::sourcelist', join(home, 'sources.list')],
    ['Dir::Etc::sourceparts', '-'],
    ['Dir::State::lists', join(home, 'lists')],
    ['Dir::Cache', join(home, 'cache')],
    ['APT::Sandbox::User', 'root'],
    ['APT::Get::List-Cleanup', '0'],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`])
}

/** Tests run beside each other, and apt does not wait for the lock of its lists: it fails. What it says is printed, because the test is skipped then. */
function inTurn(program: string, options: readonly string[], args: readonly string[], cwd: string) {
  const words = ['--wait', String(TURN_S), join(cwd, 'turn.lock'), program, '-qq', ...options, ...args]
  const done = spawnSync('flock', words, { cwd, timeout: 2 * TURN_S * 1_000, encoding: 'utf8' })
  if (done.status !== 0) console.error(`${program} ${args.join(' ')}: ${done.stderr.trim() || 'no answer in time'}`)
  return done
}

/** The folder with the unpacked package, or undefined when it cannot be had. */
export function unpackedDeb(suite: Suite, name: string): string | undefined {
  const folder = join(CACHE, suite, `unpacked-${name}`)
  if (existsSync(folder)) return folder
  const from = mirror()
  if (from === undefined) return undefined
  const options = optionsFor(suite, from)
  const apt = (...args: string[]) => inTurn('apt-get', options, args, join(CACHE, suite))
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

/** With the updates of the suite: Debian has two versions of some packages. */
const FULL = '-full'

/** All versions of a package as files, oldest first; empty when they cannot be had. */
export function debFiles(suite: Suite, name: string): readonly string[] {
  const from = mirror()
  if (from === undefined) return []
  const home = join(CACHE, `${suite}${FULL}`)
  const options = optionsFor(suite, from, home)
  const apt = (program: string, ...args: string[]) => inTurn(program, options, args, home)
  if (readdirSync(join(home, 'lists')).length < 4 && apt('apt-get', 'update').status !== 0) return []
  const listed = apt('apt-cache', 'madison', name).stdout.split('\n')
  const versions = [...new Set(listed.flatMap((line) => line.split('|')[1]?.trim() ?? []))]
  const fileOf = (version: string): string | undefined =>
    readdirSync(home).find((f) => f.startsWith(`${name}_${version.replaceAll(':', '%3a')}_`) && f.endsWith('.deb'))
  for (const version of versions)
    if (fileOf(version) === undefined && apt('apt-get', 'download', `${name}=${version}`).status !== 0) return []
  return versions
    .flatMap((v) => fileOf(v) ?? [])
    .toSorted()
    .map((f) => join(home, f))
}

export const programOf = (folder: string, path: string): Buffer => readFileSync(join(folder, path))
