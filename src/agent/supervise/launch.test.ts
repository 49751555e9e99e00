// The working folder and the user from docs/reference/component-contract.md, with real processes.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { geteuid } from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nodeDir } from '../node-dir.ts'
import { launch } from './launch.ts'
import { logFile } from './log-file.ts'
import type { StartRequest } from './port.ts'
import { defined } from '#lib/defined.ts'

let path = ''
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'kubenode-launch-'))
  mkdirSync(join(path, 'root/etc'), { recursive: true })
})
afterEach(() => rmSync(path, { recursive: true, force: true }))

const dir = () => nodeDir(path)

/** The process's own output, after it has ended. */
async function said(user?: string): Promise<readonly string[]> {
  const service = {
    exec: '/bin/sh',
    args: ['-c', 'pwd; id -u'],
    killMode: 'Group',
    ...defined({ user }),
  }
  const request = { component: 'lamp', slot: 's', service } as unknown as StartRequest
  const place = { dir: dir(), binFolder: dirname(process.execPath), environment: {} }
  await new Promise<void>((resolve, reject) => {
    launch(request, '1', place, () => resolve()).catch(reject)
  })
  return readFileSync(logFile(dir(), 'lamp'), 'utf8').trim().split('\n')
}

test('a program without a user starts in the root of the node, as the user of the agent', async () => {
  expect(await said()).toEqual([join(path, 'root'), String(geteuid?.())])
})

test('a user is looked for in /etc/passwd of the node; one that is not there is refused, and nothing runs', async () => {
  const self = geteuid?.() ?? 0
  writeFileSync(join(path, 'root/etc/passwd'), `keeper:x:${self}:${self}::/:/bin/false\n`)
  expect(await said('keeper')).toEqual([join(path, 'root'), String(self)])
  await expect(said('nobody')).rejects.toThrow(/^KN8034: .*nobody/)
})
