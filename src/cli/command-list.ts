// Every command of kubenode: its group, its order and line in `kubenode --help`, and the file that registers it. A new command is one line here plus its file.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'

interface CommandFile {
  register(program: Command, io: Io): void
}

/** Each invocation loads only its own command's file. */
type Load = () => Promise<CommandFile>

interface Listed {
  /** Short: `kubenode COMMAND --help` has the details. */
  readonly line: string
  readonly load: Load
}

interface Group {
  readonly title: string
  /** By name, in help order: most used first. */
  readonly commands: Readonly<Record<string, Listed>>
}

const as = (line: string, load: Load): Listed => ({ line, load })

// Files that register several commands.
const edits: Load = () => import('./commands/rollout/edits.ts')
const explore: Load = () => import('./commands/basic/explore.ts')
const freeze: Load = () => import('./commands/repair/freeze.ts')
const inspect: Load = () => import('./commands/basic/inspect.ts')
const installing: Load = () => import('./commands/cluster-management/install.ts')
const machine: Load = () => import('./commands/machine/machine.ts')
const release: Load = () => import('./commands/rollout/release.ts')
const rollout: Load = () => import('./commands/rollout/rollout.ts')
const whyNot: Load = () => import('./commands/repair/why-not.ts')

export const COMMAND_GROUPS: readonly Group[] = [
  {
    title: 'Basic Commands:',
    commands: {
      get: as('List, show or watch KubeNode objects', () => import('./commands/basic/get.ts')),
      describe: as('Show all about one object: spec, status, events', inspect),
      why: as('Explain what waits or is wrong, and what to do first', inspect),
      events: as('List what happened to objects', explore),
      logs: as('Show the log of a component on a machine', () => import('./commands/basic/logs.ts')),
      tree: as('Show what belongs to a machine, node, release or set', explore),
      watch: as('Follow rollouts and releases', explore),
      trace: as('Show which commit an object comes from', inspect),
      explain: as('Explain a numbered error', () => import('./commands/basic/explain.ts')),
    },
  },
  {
    title: 'Rollout Commands:',
    commands: {
      rollout: as('The rollout and revisions of a set', rollout),
      release: as('Commits in the stages of the fleet', release),
      canary: as('Versions that run on a few machines first', rollout),
      history: as(
        'What happened: commits, lives of nodes, who did what',
        () => import('./commands/rollout/history.ts'),
      ),
      approve: as(
        'Approve a permit, the deletions of a release, or a digest',
        () => import('./commands/rollout/approve.ts'),
      ),
      brake: as('What is stopped in all clusters, and which may change', () => import('./commands/rollout/brake.ts')),
      pause: as('Start nothing new of an object', rollout),
      resume: as('Remove your pause or pin of an object', rollout),
      rollback: as('Return a set to an earlier revision', rollout),
      reconcile: as('Let sync read the repository now', () => import('./commands/rollout/reconcile.ts')),
      'allow-edit': as('Let an edit take effect although git declares otherwise', edits),
      'put-back': as('Undo an edit', edits),
    },
  },
  {
    title: 'Repair Commands:',
    commands: {
      'why-not': as('Show what blocks the repair of a node', whyNot),
      repair: as('Repair a node from the first rung', whyNot),
      freeze: as('Stop every disruption of a cluster or an object', freeze),
      thaw: as('Lift a freeze', freeze),
      maintenance: as(
        'Plan work on machines, end it, list what is planned',
        () => import('./commands/repair/maintenance.ts'),
      ),
      unprotect: as(
        'Lift protection and the deletion guard for a short time',
        () => import('./commands/repair/unprotect.ts'),
      ),
    },
  },
  {
    title: 'Machine Commands:',
    commands: {
      machine: as('Join, readmit and revoke single machines', machine),
      join: as('Join existing hosts over SSH, many at once', () => import('./commands/machine/join.ts')),
      import: as('Observe existing Nodes as Machines without changing them', machine),
      adopt: as('Let an agent take over files of an existing node', machine),
      agent: as(
        'The agent of a node: its bundle, joining a host, running it',
        () => import('./commands/machine/agent.ts'),
      ),
      provider: as('Infra providers: test, serve or allow one', () => import('./commands/machine/provider.ts')),
    },
  },
  {
    title: 'Fleet Repository Commands:',
    commands: {
      init: as('Make a git repository for a fleet of your own', () => import('./commands/fleet-repository/init.ts')),
      local: as('Run a whole fleet on this machine', () => import('./commands/fleet-repository/local.ts')),
      plan: as('Show what a commit changes in each cluster', () => import('./commands/fleet-repository/plan.ts')),
      simulate: as(
        'Try a commit on a copy of a cluster while things break',
        () => import('./commands/fleet-repository/simulate.ts'),
      ),
      diff: as(
        'Show the rendered objects of two commits, line by line',
        () => import('./commands/fleet-repository/diff.ts'),
      ),
      lint: as(
        'Check objects, rules, kubeconfigs and the code of a fleet',
        () => import('./commands/fleet-repository/lint.ts'),
      ),
      rules: as(
        'Test remedy rules before a cluster has them, enforce them',
        () => import('./commands/fleet-repository/rules.ts'),
      ),
      artifact: as(
        'Pack, sign and verify what agents install',
        () => import('./commands/fleet-repository/artifact.ts'),
      ),
      preview: as('Clusters of their own for branches', () => import('./commands/fleet-repository/preview.ts')),
      inventory: as(
        'Snapshots of clusters, for plans without a connection',
        () => import('./commands/fleet-repository/inventory.ts'),
      ),
    },
  },
  {
    title: 'Measurement Commands:',
    commands: {
      report: as('What a cluster was like: tables or a page', () => import('./commands/measurement/report.ts')),
      monitoring: as('Let Prometheus read a cluster', () => import('./commands/measurement/monitoring.ts')),
    },
  },
  {
    title: 'Cluster Management Commands:',
    commands: {
      check: as('Check whether KubeNode can be installed, or works', installing),
      install: as('Install KubeNode in a cluster', installing),
      bootstrap: as(
        'Install KubeNode and make it follow a git repository',
        () => import('./commands/cluster-management/bootstrap.ts'),
      ),
      upgrade: as('Bring the KubeNode of a cluster to this version', installing),
      uninstall: as('Take KubeNode off a cluster', installing),
      cluster: as(
        'Clusters of the hub: list, show, extend, reach them',
        () => import('./commands/cluster-management/cluster.ts'),
      ),
    },
  },
  {
    title: 'Program Commands:',
    commands: {
      console: as('Serve a page for the clusters of a kubeconfig', () => import('./commands/program/console.ts')),
      run: as('Run parts of KubeNode against a cluster', () => import('./commands/program/run.ts')),
      apiserver: as('Run the embedded Kubernetes API server', () => import('./commands/program/apiserver.ts')),
      image: as('The container image: build, push, sign, verify, load', () => import('./commands/program/image.ts')),
    },
  },
  {
    title: 'Other Commands:',
    commands: {
      completion: as('Print a completion script for bash, zsh or fish', () => import('./commands/other/completion.ts')),
      help: as('Show what a command does', () => import('./commands/other/help.ts')),
      version: as('Print the versions of kubenode and its environment', () => import('./commands/other/version.ts')),
    },
  },
]

/** Started by KubeNode's own programs; not listed in the help. */
const HIDDEN: Readonly<Record<string, Load>> = {
  'render-job': () => import('./commands/program/render-job.ts'),
}

const listed = COMMAND_GROUPS.flatMap(({ commands }) => Object.entries(commands))

export const COMMAND_FILES: ReadonlyMap<string, Load> = new Map([
  ...listed.map(([name, { load }]) => [name, load] as const),
  ...Object.entries(HIDDEN),
])
