import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '#lib/system-clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { realFiles } from '../files/real.ts'
import { nodeDir, type NodeDir } from '../node-dir.ts'
import { readStat } from '../supervise/proc.ts'
import { newPublisher, release, type Publisher } from '#test/doubles/node/release.ts'
import { cleanDisk, isCleanable } from './clean-disk.ts'
import { collectEvidence } from './evidence.ts'
import { findFiles, removeFound } from './folder-walk.ts'
import { endLeftScripts, runScript } from './run-script.ts'
import { doStep, type StepPorts } from './steps.ts'

let folder: string
let dir: NodeDir
const never = new AbortController().signal

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-repair-'))
  dir = nodeDir(folder)
  mkdirSync(join(dir.root, 'tmp'), { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const OLD = new Date(Date.now() - 30 * 86_400_000)

function oldFile(...names: readonly string[]): string {
  const path = join(dir.root, ...names)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, 'x')
  utimesSync(path, OLD, OLD)
  return path
}

const wanted = { olderThan: '168h', journal: false, images: true, untilFree: 90, dryRun: false }
const clean = (more: Partial<Parameters<typeof cleanDisk>[1]> = {}) =>
  cleanDisk({ dir, clock: systemClock }, { ...wanted, ...more }, never)

describe('S21 disks are cleaned within bounds', () => {
  test('each directory by its own limits, and what it lost is reported for each', async () => {
    const [first, second] = [oldFile('var/crash/a'), oldFile('var/crash/b')]
    const cache = oldFile('var/cache/c')
    utimesSync(second, new Date(OLD.getTime() + 1_000), new Date(OLD.getTime() + 1_000))
    const { output } = await clean({ directories: [{ path: '/var/crash', keep: 1, maxShare: 0 }], untilFree: 1 })
    expect(output).toMatch(/^removed 1 file with \d+ bytes \(\/var\/crash: 1 with \d+\)/)
    expect([first, second, cache].map((f) => existsSync(f))).toEqual([false, true, true])
  })

  test('a dry run finds the same files and removes none', async () => {
    const files = [oldFile('tmp/a/b'), oldFile('var/cache/c')]
    const { outcome, output } = await clean({ dryRun: true })
    expect(outcome).toBe('Succeeded')
    expect(output).toMatch(/^dry run, nothing removed: it would remove 2 files with \d+ bytes \(\/tmp: 1 with/)
    expect(output).toContain('/tmp/a/b with ')
    expect(files.filter((f) => !existsSync(f))).toEqual([])
    expect((await clean()).output).toMatch(/^removed 2 files/)
  })

  test.each(['/etc', '/tmp/../etc', '/var/logs', '/', '/tmp/./../root'])('%s is refused', async (path) => {
    expect(isCleanable(path)).toBe(false)
    expect(await clean({ paths: [path] })).toMatchObject({ outcome: 'Failed', output: expect.stringContaining(path) })
  })

  test('old files go; young ones, open ones, links and what they lead to stay', async () => {
    const [old, deep, open] = [oldFile('tmp/old'), oldFile('tmp/a/b/deep'), oldFile('tmp/open')]
    const young = join(dir.root, 'tmp/young')
    writeFileSync(young, 'x')
    const outside = oldFile('etc/precious')
    symlinkSync(join(dir.root, 'etc'), join(dir.root, 'tmp/link'))
    symlinkSync(outside, join(dir.root, 'tmp/file-link'))
    const fd = openSync(open, 'r')
    try {
      await clean({ paths: ['/tmp'] })
    } finally {
      closeSync(fd)
    }
    expect([old, deep].filter((p) => existsSync(p))).toEqual([])
    expect([young, open, outside, join(dir.root, 'tmp/file-link')].filter((p) => !existsSync(p))).toEqual([])
  })

  test('a listed folder that is a link out of the listed ones is not cleaned', async () => {
    const outside = oldFile('etc/precious')
    mkdirSync(join(dir.root, 'var'))
    symlinkSync(join(dir.root, 'etc'), join(dir.root, 'var/cache'))
    await clean({ paths: ['/var/cache'] })
    expect(existsSync(outside)).toBe(true)
  })

  test('a folder that becomes a link after it was looked at removes nothing elsewhere', async () => {
    const outside = oldFile('etc/name')
    oldFile('tmp/a/name')
    const root = join(dir.root, 'tmp')
    const [found] = await findFiles(root, { entries: 100, depth: 4 }, () => true)
    renameSync(join(root, 'a'), join(root, 'b'))
    symlinkSync(join(dir.root, 'etc'), join(root, 'a'))
    expect(found === undefined ? undefined : removeFound(root, found)).toBe(false)
    expect([existsSync(outside), existsSync(join(root, 'b/name'))]).toEqual([true, true])
  })

  test('no more entries are looked at than allowed', async () => {
    for (let n = 0; n < 20; n++) oldFile(`tmp/${n}`)
    expect(await findFiles(join(dir.root, 'tmp'), { entries: 5, depth: 4 }, () => true)).toHaveLength(5)
  })
})

describe('S21 scripts', () => {
  let publisher: Publisher

  const script = (content: string, more: Readonly<Record<string, unknown>> = {}, trusted = true) => {
    publisher = newPublisher()
    return release(trusted ? publisher : newPublisher(), {
      component: 'mend',
      version: '1.0.0',
      entries: [{ name: 'mend', content, mode: 0o755 }],
      spec: { type: 'Script', script: { command: ['/opt/mend/mend', 'fixed'], timeout: '5s' }, ...more },
    })
  }

  const run = (one: ReturnType<typeof script>, signal = never, args: readonly string[] = ['given; touch /oops']) =>
    runScript(
      {
        files: realFiles,
        dir,
        clock: systemClock,
        client: { get: async () => one.object } as unknown as Pick<KubeClient, 'get'>,
        trust: { current: async () => ({ kind: 'Trusted', document: publisher.trust().document }) as never },
        fetcher: {
          async *open() {
            yield one.artifact
          },
        },
        platform: { os: 'linux', arch: 'amd64' },
        environment: { PATH: '/usr/bin:/bin' },
      },
      { component: 'mend', version: '1.0.0', args },
      signal,
    )

  test('run with arguments that no shell reads, from a folder that is gone afterwards', async () => {
    const result = await run(script('#!/bin/sh\necho "$1|$2"; pwd; echo bad >&2\n'))
    expect(result.outcome).toBe('Succeeded')
    expect(result.output).toContain('fixed|given; touch /oops\n')
    expect(readdirSync(join(dir.state, 'scripts/runs'))).toEqual([])
  })

  test('one that ends late removes nothing of the one after it', async () => {
    const one = script(
      `#!/bin/sh\ntouch ${folder}/began-$2\nwhile [ ! -e ${folder}/go-$2 ]; do sleep 0.02; done\ntest -e "$0"\n`,
      { script: { command: ['/opt/mend/mend', 'fixed'], timeout: '30s' } },
    )
    const began = (name: string) => vi.waitUntil(() => existsSync(join(folder, `began-${name}`)), { timeout: 100_000 })
    const old = run(one, never, ['old'])
    await began('old')
    const next = run(one, never, ['next'])
    await began('next')
    writeFileSync(join(folder, 'go-old'), '')
    await old
    writeFileSync(join(folder, 'go-next'), '')
    expect([(await old).outcome, (await next).outcome]).toEqual(['Succeeded', 'Succeeded'])
  })

  test.each([
    ['exit with another code', '#!/bin/sh\necho no; exit 3\n', {}, 'no\n\nexited with 3'],
    ['name another interpreter', '#!/usr/bin/evil -x\n', {}, 'the interpreter /usr/bin/evil -x is not one of'],
    [
      'name a program that is not in their archive',
      '#!/bin/sh\n',
      { script: { command: ['/bin/sh'], timeout: '5s' } },
      '/bin/sh is not in the archive of mend',
    ],
    [
      'name one above their archive',
      '#!/bin/sh\n',
      { script: { command: ['/opt/mend/../../bin/sh'], timeout: '5s' } },
      'is not in the archive of mend',
    ],
  ] as const)('that %s fail', async (_what, content, more, says) => {
    const result = await run(script(content, more))
    expect([result.outcome, result.output.includes(says) ? says : result.output]).toEqual(['Failed', says])
  })

  test('that no trusted key signed are not run', async () => {
    const one = script('#!/bin/sh\ntouch "$PWD/../ran"\n', {}, false)
    await expect(run(one)).rejects.toThrow(/cannot install mend 1\.0\.0/)
  })

  test('F38 that do not end are ended with all that they started', async () => {
    const file = join(folder, 'pid')
    const one = script(`#!/bin/sh\nsleep 1000 & echo $! > ${file}\nwait\n`, {
      script: { command: ['/opt/mend/mend'], timeout: '300ms' },
    })
    const result = await run(one)
    expect(result).toMatchObject({ outcome: 'Failed', output: expect.stringContaining('timed out after 300 ms') })
    // The machine's init process may take a while to reap it.
    expect(readStat(Number(readFileSync(file, 'utf8')))?.state ?? 'Z').toBe('Z')
  })

  test('the kill switch ends them', async () => {
    const stop = new AbortController()
    const began = join(folder, 'began')
    const running = run(script(`#!/bin/sh\ntouch ${began}\nsleep 1000\n`), stop.signal)
    await vi.waitUntil(() => existsSync(began), { timeout: 100_000 })
    stop.abort(new Error('the kill switch was put on'))
    expect(await running).toMatchObject({ outcome: 'Failed', output: expect.stringContaining('kill switch') })
  })

  test('endless output is kept only at its end', async () => {
    const result = await run(script('#!/bin/sh\nyes | head -c 5000000; echo last\n'))
    expect([result.outcome, result.output.length <= 16_384, result.output.endsWith('last\n')]).toEqual([
      'Succeeded',
      true,
      true,
    ])
  })

  test('F38 what an agent that died left running is ended by the next one', async () => {
    const environment = { PATH: '/usr/bin:/bin', KUBENODE_REPAIR: join(dir.state, 'scripts') }
    const child = spawn('sleep', ['1000'], { env: environment, stdio: 'ignore' })
    await once(child, 'spawn')
    const ended = once(child, 'exit')
    // A process has its program's environment only after the kernel has loaded the program.
    mkdirSync(join(dir.state, 'scripts/runs/run-left'), { recursive: true })
    for (let n = 0; n < 100 && endLeftScripts(dir) === 0; n++) await systemClock.sleep(20)
    expect(readdirSync(join(dir.state, 'scripts'))).toEqual([])
    expect(await ended).toEqual([null, 'SIGKILL'])
  })
})

test('evidence is kept in bounded files, of a kind that cannot be had too', async () => {
  const result = await collectEvidence(
    { files: realFiles, dir, clock: systemClock },
    ['Processes', 'Disks', 'Network', 'KernelLog', 'Components'],
    'j',
    never,
  )
  expect(result.outcome).toBe('Succeeded')
  expect(result.output.split('\n').map((l) => l.split(':')[0])).toEqual([
    'Processes',
    'Disks',
    'Network',
    'KernelLog',
    'Components',
  ])
  expect(readFileSync(join(dir.state, 'evidence/j/processes.txt'), 'utf8').length).toBeGreaterThan(100)
})

test('of a journal that is larger than the bound the end is kept, and what was cut is said', async () => {
  const programs = join(folder, 'bin')
  mkdirSync(programs)
  const collect = (text: string) => {
    writeFileSync(join(programs, 'journalctl'), text, { mode: 0o755 })
    return collectEvidence({ files: realFiles, dir, clock: systemClock, programs }, ['Journal'], 'j', never)
  }
  const kept = () => readFileSync(join(dir.state, 'evidence/j/journal.txt'), 'utf8')
  const line = 'x'.repeat(99)
  const many = await collect(`#!/bin/sh\nyes ${line} | head -n 2000\necho last line\n`)
  expect(many.output).toMatch(/^Journal: .*journal\.txt \(200010 bytes\)$/)
  expect(kept().endsWith('last line\n')).toBe(true)
  const more = await collect(`#!/bin/sh\nyes ${line} | head -n 20000\necho last line\n`)
  expect(more.output).toContain(`; the first ${2_000_010 - 2 ** 20} bytes omitted)`)
  expect(kept()).toMatch(/^\[the first \d+ bytes were cut\]\nx+\n/)
  const none = await collect('#!/bin/sh\necho no journal files >&2\nexit 1\n')
  expect(none.outcome).toBe('Succeeded')
  expect(kept()).toMatch(/^journalctl: exited with code 1: no journal files\n.*var\/log\/syslog is not there\n$/)
})

test('F38 a step that never ends has failed when its time is over', async () => {
  const stop = new AbortController()
  const ports = { ask: () => new Promise(() => undefined) } as unknown as StepPorts
  const step = doStep(ports, { restartComponent: { component: 'b' } }, 'j', {
    signal: stop.signal,
    clock: systemClock,
  })
  stop.abort(new Error('it did not end within 30m'))
  expect(await step).toEqual({ outcome: 'Failed', output: 'it did not end within 30m' })
})
