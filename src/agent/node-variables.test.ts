// The page about programs on a node names exactly the variables that they get, and that of a component's process.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CASES_NOW } from '#policy/rule-cases.ts'
import { checkVariables, nodeVariables } from './node-variables.ts'

const page = (name: string): string => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8')
const variables = nodeVariables({ address: '127.0.0.9', machine: 'm', node: 'n', root: '/r', binFolder: '/node/bin' })

test('docs/node-programs.md lists the variables of programs on a node', () => {
  const rows = [...page('node-programs.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)
  expect(new Set(rows)).toEqual(new Set([...Object.keys(variables), 'KUBENODE_COMPONENT']))
  expect(rows).toHaveLength(new Set(rows).size)
})

test('checks of monitors get the same variables, and programs for administrators', () => {
  const { PATH, ...rest } = checkVariables(variables, '/node/bin')
  expect({ ...rest, PATH: variables.PATH }).toEqual(variables)
  expect(PATH?.split(':')).toEqual(expect.arrayContaining(['/node/bin', '/usr/sbin', '/sbin']))
})

test('docs/rule-cases.md names the clock of cases', () => {
  expect(page('rule-cases.md')).toContain(new Date(CASES_NOW).toISOString().replace('.000', ''))
})
