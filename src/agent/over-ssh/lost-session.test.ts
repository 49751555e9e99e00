// A program on a host whose session is lost, with shells and processes of this machine: a script plays sshd, and has its name.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { nodeDir } from '../node-dir.ts'
import { openChannel } from '#ssh/channel.ts'
import { FIND_SSHD } from './prelude.ts'
import { programOverSsh } from './programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'kn-lost-session-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a program that begins as the session is lost does not outlive it', async () => {
  const sshd = join(folder, 'sshd-played')
  writeFileSync(sshd, '#!/bin/sh\nsh -s\nexit\n', { mode: 0o755 })
  const child = spawn(sshd, [], { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  const channel = await openChannel(child, { prelude: FIND_SSHD, signal: new AbortController().signal })
  if (channel.kind === 'Failed') throw new Error(channel.stderr)
  try {
    // The shell below it lives on, and has what was asked.
    child.kill('SIGKILL')
    const isAlone = { until: join(folder, 'frozen') }
    const end = await programOverSsh(
      { channel, dir: nodeDir(folder, '/'), environment: {}, isAlone },
      ['/bin/sleep', '1000'],
      600_000,
    )
    expect(end.problem).toBe('was killed, or timed out after 600000 ms')
  } finally {
    channel.close()
  }
})
