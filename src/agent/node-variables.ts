// Environment variables that describe the node to every program on it: components, their hooks and probes, repair scripts, and monitor checks. Pure.
// `npm run gen` writes them into the pages of the contracts.

import { defined } from '#lib/defined.ts'
export interface NodePlace {
  readonly address: string
  readonly machine: string
  readonly node: string
  readonly root: string
  /** Folder of the Node.js that the agent runs on. */
  readonly binFolder: string
}

export const nodeVariables = ({ address, machine, node, root, binFolder }: NodePlace) => ({
  PATH: `${binFolder}:/usr/local/bin:/usr/bin:/bin`,
  KUBENODE_ADDRESS: address,
  KUBENODE_MACHINE: machine,
  KUBENODE_NODE: node,
  KUBENODE_ROOT: root,
})

/** Checks of a host's state are often administrator programs. */
export const checkVariables = (
  variables: Readonly<Record<string, string>>,
  binFolder: string,
): Readonly<Record<string, string>> => ({
  ...variables,
  PATH: `${binFolder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
})

/** For a component's process, under every supervisor. The component's `env` may override the rest, but not its name and its root. */
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
