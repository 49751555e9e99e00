// How `kubenode --help` lists the commands: in groups as kubectl does, the most used first, one short line each. `kubenode COMMAND --help` says more.
import { type Command, Help } from 'commander'

interface Group {
  readonly title: string
  /** By name, in the order of the list. */
  readonly commands: Readonly<Record<string, string>>
}

export const HELP_GROUPS: readonly Group[] = [
  {
    title: 'Basic Commands:',
    commands: {
      get: 'List, show or watch KubeNode objects',
      describe: 'Show all about one object: spec, status, events',
      why: 'Explain what waits or is wrong, and what to do first',
      events: 'List what happened to objects',
      logs: 'Show the log of a component on a machine',
      tree: 'Show what belongs to a machine, node, release or set',
      watch: 'Follow rollouts and releases',
      trace: 'Show which commit an object comes from',
    },
  },
  {
    title: 'Rollout Commands:',
    commands: {
      rollout: 'The rollout and revisions of a set',
      release: 'Commits in the stages of the fleet',
      canary: 'Versions that run on a few machines first',
      history: 'List the commits that reached the fleet, a cluster or a set',
      approve: 'Approve a permit, the deletions of a release, or a digest',
      pause: 'Start nothing new of an object',
      resume: 'Remove your pause or pin of an object',
      rollback: 'Return a set to an earlier revision',
      reconcile: 'Let sync read the repository now',
      'allow-edit': 'Let an edit take effect although git declares otherwise',
      'put-back': 'Undo an edit',
    },
  },
  {
    title: 'Repair Commands:',
    commands: {
      'why-not': 'Show what blocks the repair of a node',
      repair: 'Repair a node from the first rung',
      freeze: 'Stop every disruption of a cluster or an object',
      thaw: 'Lift a freeze',
      maintenance: 'Plan work on machines, end it, list what is planned',
      unprotect: 'Lift protection and the deletion guard for a short time',
    },
  },
  {
    title: 'Machine Commands:',
    commands: {
      machine: 'Join, readmit and revoke single machines',
      import: 'Observe existing Nodes as Machines without changing them',
      adopt: 'Let an agent take over files of an existing node',
      agent: 'The agent of a node: its bundle, joining a host, running it',
      provider: 'Infra providers: test, serve or allow one',
    },
  },
  {
    title: 'Fleet Repository Commands:',
    commands: {
      init: 'Make a git repository for a fleet of your own',
      local: 'Run a whole fleet on this machine',
      plan: 'Show what a commit changes in each cluster',
      diff: 'Show the rendered objects of two commits, line by line',
      lint: 'Check objects, rules, kubeconfigs and the code of a fleet',
      rules: 'Test remedy rules before a cluster has them, enforce them',
      artifact: 'Pack, sign and verify what agents install',
      preview: 'Clusters of their own for branches',
      inventory: 'Snapshots of clusters, for plans without a connection',
    },
  },
  {
    title: 'Cluster Management Commands:',
    commands: {
      check: 'Check whether KubeNode can be installed, or works',
      install: 'Install KubeNode in a cluster',
      bootstrap: 'Install KubeNode and make it follow a git repository',
      upgrade: 'Bring the KubeNode of a cluster to this version',
      uninstall: 'Take KubeNode off a cluster',
      cluster: 'Clusters of the hub: list, show, extend, reach them',
    },
  },
  {
    title: 'Program Commands:',
    commands: {
      console: 'Serve a page for the clusters of a kubeconfig',
      run: 'Run parts of KubeNode against a cluster',
      apiserver: 'Run the embedded Kubernetes API server',
      image: 'The container image: build, push, sign, verify, load',
    },
  },
  {
    title: 'Other Commands:',
    commands: {
      completion: 'Print a completion script for bash, zsh or fish',
      help: 'Show what a command does',
      version: 'Print the versions of kubenode and its environment',
    },
  },
]

const PLACES = HELP_GROUPS.flatMap(({ title, commands }) =>
  Object.entries(commands).map(([name, summary]) => ({ name, title, summary })),
)

export function groupCommands(program: Command): void {
  for (const { name, title, summary } of PLACES)
    program.commands
      .find((c) => c.name() === name)
      ?.helpGroup(title)
      .summary(summary)
}

const isRoot = (command: Command | null): boolean => command !== null && command.parent === null

const placeOf = (command: Command): number => PLACES.findIndex(({ name }) => name === command.name())

const MORE = '\nRun kubenode COMMAND --help for more about a command.\n'

/** Of the list of all commands; that of the commands of a command is as they are registered. */
export const groupedHelp: Partial<Help> = {
  visibleCommands(command) {
    const visible = Help.prototype.visibleCommands.call(this, command)
    return isRoot(command) ? visible.toSorted((a, b) => placeOf(a) - placeOf(b)) : visible
  },
  // Commander orders groups by registration.
  groupItems: (_registered, visible, groupOf) => Help.prototype.groupItems(visible, visible, groupOf),
  subcommandTerm(command) {
    return isRoot(command.parent) ? command.name() : Help.prototype.subcommandTerm.call(this, command)
  },
  formatHelp(command, helper) {
    return `${Help.prototype.formatHelp.call(this, command, helper)}${isRoot(command) ? MORE : ''}`
  },
}
