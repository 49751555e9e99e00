import { expect, test } from 'vitest'
import { checkVariables, componentVariables, nodeVariables } from './node-variables.ts'

const variables = nodeVariables({ address: '127.0.0.9', machine: 'm', node: 'n', root: '/r', binFolder: '/node/bin' })

test('checks of monitors get the same variables, and programs for administrators', () => {
  const { PATH, ...rest } = checkVariables(variables, '/node/bin')
  expect({ ...rest, PATH: variables.PATH }).toEqual(variables)
  expect(PATH?.split(':')).toEqual(expect.arrayContaining(['/node/bin', '/usr/sbin', '/sbin']))
})

test('a component may replace what it is told about its node, but not its name and its root', () => {
  const env = { KUBENODE_ADDRESS: '0.0.0.0', KUBENODE_ROOT: '/', KUBENODE_COMPONENT: 'other', A: '1' }
  expect(componentVariables(variables, 'lamp', env)).toEqual({
    ...variables,
    KUBENODE_ADDRESS: '0.0.0.0',
    KUBENODE_COMPONENT: 'lamp',
    A: '1',
  })
})
