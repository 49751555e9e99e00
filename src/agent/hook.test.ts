import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { killGroup } from '#lib/kill-group.ts'
import { runHook, type HookDeps } from './hook.ts'
import { HungHooks } from './hung-hooks.ts'
import { componentFolder, nodeDir, type NodeDir } from './node-dir.ts'

let dir: NodeDir
beforeEach(() => {
  dir = nodeDir(mkdtempSync(join(tmpdir(), 'kubenode-hook-')))
  mkdirSync(dir.root)
})
afterEach(() => rmSync(dir.path, { recursive: true, force: true }))

const deps = (more: Partial<HookDeps> = {}): HookDeps => ({
  dir,
  environment: { PATH: '/usr/bin:/bin', KUBENODE_ROOT: dir.root },
  hung: new HungHooks(dir),
  ...more,
})

const hook = (script: string, timeoutMs = 5_000, more: Partial<HookDeps> = {}, component = 'beacon'): Promise<void> => {
  writeFileSync(join(dir.root, 'hook'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return runHook(deps(more))(['/hook', 'a b', '$(id)'], timeoutMs, component)
}

test('a hook is the program of the node, with its arguments as they are', async () => {
  await expect(hook('[ "$1" = "a b" ] && [ "$2" = \'$(id)\' ] && [ -n "$KUBENODE_ROOT" ]')).resolves.toBeUndefined()
})

test('F33 a hook that fails says so with its last words', async () => {
  await expect(hook('echo no room >&2; exit 3')).rejects.toThrow(
    /^KN8033: cannot run the hook \/hook: exited with code 3: no room/,
  )
})

test('F33 a hook that hangs is killed', async () => {
  await expect(hook('trap "" TERM; exec sleep 60', 100)).rejects.toThrow(/timed out after 100 ms/)
})

describe('F33 a hook that hangs in the kernel, where no kill ends it', () => {
  /** Kills that have no effect until the test lets the process go. */
  const killed: (number | undefined)[] = []
  const more = { kill: (pid: number | undefined) => void killed.push(pid), leftAfterMs: 50 }

  beforeEach(() => mkdirSync(componentFolder(dir, 'beacon'), { recursive: true }))
  afterEach(() => {
    for (const pid of killed.splice(0)) killGroup(pid)
  })

  test('is left behind and named, as the fault of the host', async () => {
    const hung = hook('exec sleep 60', 100, more)
    await expect(hung).rejects.toThrow(
      /^KN8033: cannot run the hook \/hook: timed out after 100 ms, and process \d+ does not end although it was killed/,
    )
    await expect(hung).rejects.toMatchObject({ data: { reason: 'HostUnsuitable' } })
    expect(killed).toHaveLength(1)
  })

  test('is left behind too where only what it started hangs', async () => {
    // The shell ends by itself; its child holds no output open.
    await expect(hook('sleep 60 >/dev/null 2>&1 & exec sleep 0.3', 100, more)).rejects.toThrow(
      /process \d+ does not end/,
    )
  })

  test('has no other beside it until it has ended, also from a later agent; other components have theirs', async () => {
    await expect(hook('exec sleep 60', 100, more)).rejects.toThrow('KN8033')
    const [pid] = killed
    expect(new HungHooks(dir).pidOf('beacon')).toBe(pid)
    await expect(hook('exit 0')).rejects.toThrow(
      `KN8033: cannot run a hook of beacon: process ${pid} of an earlier one`,
    )
    await expect(hook('exit 0', 5_000, {}, 'scribe')).resolves.toBeUndefined()
    killGroup(pid)
    const hung = new HungHooks(dir)
    await vi.waitFor(() => expect(hung.pidOf('beacon')).toBeUndefined())
    await expect(hook('exit 0', 5_000, { hung })).resolves.toBeUndefined()
  })

  test('whose pid another process has by now is forgotten', () => {
    const { pid } = spawnSync('/bin/true')
    new HungHooks(dir).note('beacon', [{ pid: pid ?? 0, startTime: '1' }])
    expect(new HungHooks(dir).pidOf('beacon')).toBeUndefined()
    new HungHooks(dir).note('beacon', [{ pid: process.pid, startTime: '1' }])
    expect(new HungHooks(dir).pidOf('beacon')).toBeUndefined()
  })
})

test('F33 a hook that talks without end is killed', async () => {
  await expect(hook('exec yes')).rejects.toThrow(/^KN8033/)
})

test('a hook that is not there is refused', async () => {
  await expect(runHook(deps({ environment: {} }))(['/nothing'], 1_000, 'beacon')).rejects.toThrow(/^KN8033: .*ENOENT/)
})

test('a hook that prints as much as a package manager succeeds', async () => {
  await expect(hook('i=0; while [ $i -lt 20000 ]; do echo unpacking; i=$((i+1)); done')).resolves.toBeUndefined()
})
