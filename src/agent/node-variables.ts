// The variables that tell every program on a node where it is: components, their hooks and probes, scripts of repairs, and checks of monitors. Pure.
// `npm run gen` writes them into the pages of the contracts.

import { defined } from '#lib/defined.ts'
export interface NodePlace {
  readonly address: string
  readonly machine: string
  readonly node: string
  readonly root: string
  /** Of the Node.js that the agent runs on. */
  readonly binFolder: string
}

export const nodeVariables = ({ address, machine, node, root, binFolder }: NodePlace) => ({
  PATH: `${binFolder}:/usr/local/bin:/usr/bin:/bin`,
  KUBENODE_ADDRESS: address,
  KUBENODE_MACHINE: machine,
  KUBENODE_NODE: node,
  KUBENODE_ROOT: root,
})

/** Checks of the state of a host are often programs for administrators. */
export const checkVariables = (
  variables: Readonly<Record<string, string>>,
  binFolder: string,
): Readonly<Record<string, string>> => ({
  ...variables,
  PATH: `${binFolder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
})

/** Of the process of a component, under every supervisor. `env` of the component may replace the rest, but not what it is and where its root is. */
export const componentVariables = (
  variables: Readonly<Record<string, string>>,
  component: string,
  env: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => ({
  ...variables,
  ...env,
  KUBENODE_COMPONENT: component,
  ...defined({ KUBENODE_ROOT: variables['KUBENODE_ROOT'] }),
})
