// The numbered errors of kubenode cluster.
import { errorTable } from '#lib/error-table.ts'

export const clusterErrors = errorTable({
  KN1313_preview: {
    text: 'cannot wait for a preview of {branch}: no FleetSource of this server gives such branches one',
    next: 'write a branch as in spec.previews.branches of a FleetSource, such as preview/my-change; kubenode preview list shows them',
  },
  KN1386: {
    text: 'cannot take a preview with branch {branch}: {why}',
    next: 'name a branch that the remote does not have, such as preview/ci-4711, and run the command in a clone that may push it',
  },
  KN1208_command: {
    text: 'cannot run {command} with the kubeconfig of the preview: {why}',
    next: 'write a program and its arguments after --, such as -- npm test',
  },
  KN1690: {
    text: 'cannot extend cluster/{name}: it has no time to live, so it does not expire',
    next: 'to give it one, commit spec.ttl',
  },
  KN1002_extension: {
    text: 'cannot extend a cluster with {given}',
    next: 'write either --for with a duration such as 2h, counted from its present end, or --until with a time such as 2026-02-01T18:00:00Z; at most 30 days from now',
  },
  KN1002_earlier: {
    text: 'cannot extend cluster/{name} until {until}: it {expires}',
    next: 'write a later time',
  },
  KN1693: {
    text: 'cannot extend cluster/{name} until {until}: policy {policy} allows at most {most} from now',
    next: 'run the command with --until {latest} or earlier, or change spec.clusters.maxTtl of defenderpolicy/{policy} with a commit',
  },
  KN1690_deleted: {
    text: 'cannot extend cluster/{name}: it is being deleted',
    next: 'declare a Cluster of another name, or of this one once it is deleted',
  },
  KN7301_reached: {
    text: 'cannot print the kubeconfig of cluster/{name}: {why}',
    next: 'run kubenode cluster show {name}',
  },
  KN7301_registered: {
    text: 'cannot print the kubeconfig of the administrator of cluster/{name}: the hub did not make this cluster, so it has none',
    next: 'use a kubeconfig of that cluster itself',
  },
  KN7301_embedded: {
    text: 'cannot print the kubeconfig of the administrator of cluster/{name}: flavor embedded keeps it on the volume of the process that runs the control plane',
    next: 'read admin.kubeconfig in the data folder of this control plane there',
  },
  KN2403_secret: {
    text: 'cannot read Secret {namespace}/{secret} with the kubeconfig of cluster/{name}: your user is not permitted',
    next: 'users with the right to get Secrets in namespace {namespace} of the hub can run this command; the roles of KubeNode permit it to the programs sync and cluster alone',
  },
})
