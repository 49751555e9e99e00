import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runHook } from './hook.ts'
import { nodeDir, type NodeDir } from './node-dir.ts'

let dir: NodeDir
beforeEach(() => {
  dir = nodeDir(mkdtempSync(join(tmpdir(), 'kubenode-hook-')))
  mkdirSync(dir.root)
})
afterEach(() => rmSync(dir.path, { recursive: true, force: true }))

const hook = (script: string, timeoutMs = 5_000): Promise<void> => {
  writeFileSync(join(dir.root, 'hook'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return runHook(dir, { PATH: '/usr/bin:/bin', KUBENODE_ROOT: dir.root })(['/hook', 'a b', '$(id)'], timeoutMs)
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

test('F33 a hook that talks without end is killed', async () => {
  await expect(hook('exec yes')).rejects.toThrow(/^KN8033/)
})

test('a hook that is not there is refused', async () => {
  await expect(runHook(dir, {})(['/nothing'], 1_000)).rejects.toThrow(/^KN8033: .*ENOENT/)
})

test('a hook that prints as much as a package manager succeeds', async () => {
  await expect(hook('i=0; while [ $i -lt 20000 ]; do echo unpacking; i=$((i+1)); done')).resolves.toBeUndefined()
})
