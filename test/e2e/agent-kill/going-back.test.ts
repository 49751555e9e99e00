// F30: the supervisor of the rolling the agent back to the copy before. What it writes is on the disk in the order in which it must be found after a power cut.
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { expect, test } from 'vitest'
import { agentCurrentLink, agentSlotFolder, switchFile } from '#agent/self/switch-file.ts'
import { noStrace, recording } from '#test/support/faults/strace.ts'
import { eventually } from '../../integration/agent-bench.ts'

const SUPERVISOR = join(import.meta.dirname, '../../../src/cli/supervisor-main.ts')
const [OLD, NEW] = ['aaaaaaaaaaaaaaaa-0', 'bbbbbbbbbbbbbbbb-0']

test('F30 that the old copy runs again is on the disk before it is reported, and that is before the new one is forgotten', async (context) => {
  const missing = noStrace()
  if (missing !== undefined) context.skip(missing)
  const root = mkdtempSync(join(tmpdir(), 'kubenode-back-'))
  const state = join(root, 'state')
  const here = join(root, 'old runs')
  for (const [slot, program] of [
    [OLD, `require('node:fs').writeFileSync(${JSON.stringify(here)}, ''); setInterval(() => {}, 1000)`],
    [NEW, 'process.exit(1)'],
  ] as const) {
    mkdirSync(join(agentSlotFolder(state, slot), 'tree'), { recursive: true })
    writeFileSync(
      join(agentSlotFolder(state, slot), 'tree/agent.mjs'),
      `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)\n${program}\n`,
    )
  }
  symlinkSync(agentSlotFolder(state, NEW), agentCurrentLink(state))
  writeFileSync(switchFile(state), JSON.stringify({ to: NEW, from: OLD }))
  const recorded = recording()
  const [strace = '', ...rest] = recorded.argv
  const child = spawn(strace, [...rest, execPath, SUPERVISOR, join(root, 'joined.mjs'), '--root', root], {
    stdio: 'ignore',
  })
  await eventually('the old copy', async () => existsSync(here), Boolean, 30_000)
  child.kill('SIGTERM')
  await once(child, 'exit')
  const [link, file] = [agentCurrentLink(state), switchFile(state)]
  const said = recorded
    .events(root)
    .flatMap((e) =>
      (e.kind === 'Move' && (e.to === link || e.to === file)) || e.kind === 'Sync'
        ? [`${e.kind} ${e.kind === 'Move' ? e.to : e.file}`]
        : [],
    )
  expect(said).toEqual([
    `Move ${link}`,
    `Sync ${join(state, 'components/kubenode-agent')}`,
    `Sync ${file}.back`,
    `Move ${file}`,
    `Sync ${state}`,
  ])
  rmSync(root, { recursive: true })
})
