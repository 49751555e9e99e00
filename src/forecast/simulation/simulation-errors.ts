// The numbered errors of kubenode simulate.
import { errorTable } from '#lib/error-table.ts'

export const simulationErrors = errorTable({
  KN1347: {
    text: 'cannot load the scenario {file}: {why}',
    next: 'correct the file; docs/operations/simulate.md has an example',
  },
  KN1347_unknown: {
    text: 'there is no scenario {name} in {folder}{hint}',
    next: 'name one of {known}, or its file by the path from the current folder',
  },
  KN1347_none: {
    text: 'cannot simulate: {folder} has no file that ends in {ending}',
    next: 'write one, or name a built-in scenario with --what-if',
  },
  KN1347_machines: {
    text: 'cannot simulate {cluster}: its inventory has no machine',
    next: 'take it from a cluster with machines: kubenode inventory export --context CLUSTER > FILE',
  },
  KN1347_inventory: {
    text: 'cannot tell which cluster of the fleet the inventory of {cluster} belongs to: the fleet declares {known}',
    next: 'name it with --fleet-cluster',
  },
  KN1347_cluster: {
    text: 'cannot tell which cluster to simulate: the fleet declares MachineSets for {known}',
    next: 'name one with --fleet-cluster',
  },
  KN1347_replicas: {
    text: 'cannot simulate {cluster} without an inventory: its MachineSets have {count} machines, not 1 to {most}',
    next: 'set the number of each MachineSet with --machines',
  },
})
