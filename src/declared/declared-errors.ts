// The numbered errors about what git declares.
import { errorTable } from '#lib/error-table.ts'

export const declaredErrors = errorTable({
  KN3062: {
    text: 'component {component} is not declared{hint}',
    next: 'declare its MachineComponent, or name it in the annotation {annotation} when another source declares it',
  },
  KN3062_step: {
    text: 'reinstallComponent names component {component}, which this fleet does not declare: on its machines this step fails',
    next: 'name a declared component, or list it in the annotation {annotation} of the rule when another source declares it',
  },
  KN3062_version: {
    text: 'component {component} has no version {version} (declared: {versions})',
    next: 'declare the MachineComponent, or use a declared version',
  },
  KN3064: {
    text: 'component {component} {version} has type {type}, but runScript runs only type Script',
    next: 'use a component of type Script',
  },
  KN3064_set: {
    text: 'component {component} {version} has type Script, which only repairs run',
    next: 'remove it from the components',
  },
  KN3066: {
    text: 'no known detector reports condition {type}{hint}',
    next: 'ignore this if your own detector reports it',
  },
  KN3067: {
    text: 'the selector can never match: {why}',
    next: 'remove one of the requirements',
  },
  KN3068: {
    text: 'no MachineSet or Machine declared here has the labels of the selector ({wanted})',
    next: 'ignore this if such machines are imported or labeled manually',
  },
  KN3069: {
    text: 'each rung is a rescue, and machines of pool {pools} have no rescue key: nothing is done there',
    next: 'add another rung, set spec.ssh.rescue on these Machines before they join, or limit the rule with nodeSelector',
  },
  KN1108_placeholder: {
    text: 'component {component} {version} has a placeholder for a digest ({digest})',
    next: 'run kubenode artifact pack with --statement, then kubenode artifact sign',
  },
  KN1108_agents: {
    text: 'agents will refuse component {component} {version}: {why}',
    next: 'run kubenode artifact sign with a trusted key',
  },
  KN3071: {
    text: 'these versions require each other in a cycle: {circle}',
    next: 'declare a version of one of them that requires none of the others',
  },
  KN3072: {
    text: 'agents cannot use agent.json: {why}',
    next: 'correct the file and commit it',
  },
  KN3066_verified: {
    text: 'the repair is verified by condition {type}, which the rule does not read (did you mean {near}?)',
    next: 'correct conditionCleared; ignore this if both conditions exist',
  },
  KN3066_unset: {
    text: 'rule {rule} can never fire: nothing in this fleet sets condition {type}{hint}',
    next: 'have the agents detect it, or remove the rule; if something else sets it, list it in the annotation {annotation} of the rule',
  },
  KN3077: {
    text: 'condition {type} has no rule: agents report it, and nothing repairs it',
    next: 'declare a NodeRemedier that reads it, or write the reason into the annotation {annotation}: "{type}: reason"',
  },
  KN3074: {
    text: 'git may not declare this in agent.json: {why}',
    next: 'put it into {hostFile} on the hosts that need it, or a check that runs a program into a monitor file below /etc or /usr, from the image or a signed component',
  },
  KN3075: {
    text: 'no controller serves provider {name}{hint}; served according to {file}: {names}',
    next: 'correct the name, or configure the provider for the controllers and list it in {file}',
  },
  KN3076: {
    text: 'provider {name} is none that KubeNode brings{hint}',
    next: 'correct the name; if the controllers have a remote provider of this name, list what they serve in {file}',
  },
  KN3078: {
    text: '{component} has disruption: Reboot, and {pool} has provider {provider}: its nodes are folders, which cannot boot a kernel',
    next: 'select machines of another provider (nspawn boots systemd machines on this host), or leave this version out for these machines',
  },
  KN3101: {
    text: '{component} and {other} (of machinecomponentset {set}) are both of type OS, and both select {pool}: a machine boots one kernel',
    next: 'select other machines with one of them, or make both versions of one component',
  },
  KN1451_inventory: {
    text: 'the controllers of cluster {cluster} serve no provider {name}{hint}; they serve {names} (inventory of {takenAt})',
    next: 'correct the name, or configure the provider for these controllers and take the inventory again',
  },
  KN3090: {
    text: 'kind {kind} is written by KubeNode programs only',
    next: 'remove it from the fleet',
  },
  KN3090_decision: {
    text: 'kind {kind} records the decision of a person, which a commit cannot make',
    next: 'remove it from the fleet, and use kubenode approve, pause or freeze instead',
  },
  KN3090_field: {
    text: '{field} is set by programs, not by a commit',
    next: 'remove it',
  },
  KN3090_deletion: {
    text: 'metadata.{field} decides when an object is deleted, which a commit may not',
    next: 'remove it',
  },
  KN3094: {
    text: 'refused by every cluster that does not list it for git: {why}',
    next: 'remove it, or have the installer of the cluster grant sync the verb {verb} on {resource} of API group {group}, resource name {name}{where}; see docs/operations/security.md',
  },
  KN1524_unlimited: {
    text: 'FleetSource {name} has no spec.writes: sync follows it with all of its own rights',
    next: 'set spec.writes, or let only the platform team commit to its repository; a source with spec.writes cannot declare it',
  },
  KN3096: {
    text: 'Cluster {name} names the Secret {secret}, which sync opens only if it is annotated for this cluster',
    next: 'name it {expected}, or annotate the Secret with {annotation}: {id}',
  },
  KN3097: {
    text: 'a Cluster cannot be called {name}: that is the hub itself, whose objects would be those of the Cluster',
    next: 'give the Cluster another name',
  },
  KN3098: {
    text: 'the hub refuses Cluster {name}: {why}; nothing of its control plane is made or changed until it is corrected',
    next: 'correct the Cluster',
  },
  KN3098_version: {
    text: 'version {version} of Cluster {name} is not served by its host, which serves {served}',
    next: 'name a version of one of these, or add the version to the host first and take the inventory again',
  },
  KN3099: {
    text: 'ttl {ttl} stops the API server of Cluster {name} {when}; its data stays',
    next: 'set a longer ttl before the merge, or run kubenode cluster extend {name} afterwards',
  },
  KN3079: {
    text: 'PodTemplate {template} is not declared in namespace {namespace}{hint}: no node can pass',
    next: 'correct the name, or declare the PodTemplate; ignore this if it is written by hand',
  },
  KN3060: {
    text: '{what} asks {url}, which is refused: {why}',
    next: 'name an address that is reached from the hub or the cluster; only where sync and the controllers run with --inspection-allow {origin} is it asked',
  },
})
