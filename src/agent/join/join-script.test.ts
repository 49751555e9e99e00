import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { joinScript } from './join-script.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-join-'))
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'join.sh'), joinScript(), { mode: 0o755 })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function joined(node: string) {
  writeFileSync(join(folder, 'bin/node'), `#!/bin/sh\n${node}\n`, { mode: 0o755 })
  return spawnSync(join(folder, 'join.sh'), ['BUNDLE'], { encoding: 'utf8' })
}

test('a host on which Node.js does not start names the package to install', () => {
  const said = 'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file'
  const { status, stderr } = joined(`echo '${said}' >&2; exit 127`)
  expect(status).toBe(1)
  expect(stderr).toMatch(
    /^KN1006: cannot join: Node\.js does not start on this host: .*libatomic\.so\.1.*; install what it names, such as libatomic1/,
  )
})

test('a host whose C library is older than the libraries of the bundle uses its own, and keeps the one that it lacks', () => {
  mkdirSync(join(folder, 'lib'))
  for (const name of ['libatomic.so.1', 'libgcc_s.so.1', 'libstdc++.so.6']) writeFileSync(join(folder, 'lib', name), '')
  const said = "node: /lib/libc.so.6: version `GLIBC_2.36' not found (required by libstdc++.so.6)"
  const { status, stdout, stderr } = joined(
    `if [ -e "$LD_LIBRARY_PATH/libstdc++.so.6" ]; then echo "${said.replaceAll('`', '\\`')}" >&2; exit 1; fi; echo "$*"`,
  )
  expect([status, stdout], stderr).toEqual([0, expect.stringContaining('agent.mjs join BUNDLE')])
  expect(readdirSync(join(folder, 'lib'))).toEqual(['libatomic.so.1'])
})

test('on any other host the agent joins, with the libraries of the bundle first', () => {
  const { status, stdout } = joined('echo "$LD_LIBRARY_PATH $*"')
  expect(status).toBe(0)
  expect(stdout).toBe(`${folder}/lib ${folder}/agent.mjs join BUNDLE --prefix /opt/kubenode\n`)
})
