/** Made by `npm run api` from the OpenAPI document of the server; do not edit. */
export interface paths {
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who changed what
         * @description List changes, the oldest first; admins only, of their own projects.
         */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A copy of the store
         * @description Copy everything up to this moment, without logs and artifacts, and send the copy.
         */
        get: operations["get_backup"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/cluster-templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List templates for all
         * @description List the templates that every project may use.
         */
        get: operations["list_cluster_templates"];
        put?: never;
        /**
         * Keep a template for all
         * @description Keep a ClusterWorkflowTemplate; admins of all projects only.
         */
        post: operations["save_cluster_template"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/cluster-templates/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a template for all
         * @description Show a template that every project may use.
         */
        get: operations["get_cluster_template"];
        put?: never;
        post?: never;
        /**
         * Remove a template for all
         * @description Remove a template for all; admins of all projects only.
         */
        delete: operations["delete_cluster_template"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How things are
         * @description Count what runs, and what ended lately; of the projects that the token sees.
         *
         *     Use and waits are those of the whole machine: they name nobody.
         */
        get: operations["overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview/queues/{queue_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How full a queue has been
         * @description Give what a queue held over time, since this server began.
         */
        get: operations["queue_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List projects
         * @description List the projects that the token sees.
         */
        get: operations["list_projects"];
        put?: never;
        /**
         * Make a project
         * @description Make a project; admins of all projects only.
         */
        post: operations["make_project"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a project
         * @description Show a project.
         */
        get: operations["get_project"];
        put?: never;
        post?: never;
        /**
         * Remove a project
         * @description Remove a project without workflows and templates; its tokens and sessions go with it.
         */
        delete: operations["delete_project"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queue-plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List queue plans
         * @description List all queues of a scheduler as plans, with state and numbers, parents first.
         */
        get: operations["list_queue_plans"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queue-plans/{queue}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a queue as a plan
         * @description Show a queue as a plan, with its state and numbers.
         */
        get: operations["get_queue_plan"];
        /**
         * Make or replace a queue by a plan
         * @description Have a queue be what the plan says, at once; admins of all projects only.
         */
        put: operations["put_queue_plan"];
        post?: never;
        /**
         * Remove a queue
         * @description Remove a queue that has neither live workflows nor queues below it.
         */
        delete: operations["delete_queue_plan"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queue-plans/{queue}/{state}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open or close a queue
         * @description Let work in, or let nothing new in; admins of all projects only.
         */
        post: operations["set_queue_plan_state"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List queues
         * @description List all queues, parents before their children.
         */
        get: operations["list_queues"];
        put?: never;
        /**
         * Make a queue
         * @description Make a queue; admins of all projects only. Without more, its quota is a hard limit.
         */
        post: operations["make_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a queue
         * @description Show a queue as it is defined.
         */
        get: operations["get_queue"];
        put?: never;
        post?: never;
        /**
         * Remove a queue
         * @description Remove a queue that has neither live workflows nor queues below it.
         */
        delete: operations["delete_queue"];
        options?: never;
        head?: never;
        /**
         * Change a queue
         * @description Change what is given, at once; what runs goes on.
         */
        patch: operations["change_queue"];
        trace?: never;
    };
    "/api/v1/queues/{queue_id}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Close a queue
         * @description Let nothing new in; what runs goes on.
         */
        post: operations["close_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue_id}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open a queue
         * @description Let work in again.
         */
        post: operations["open_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue_id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How full a queue is
         * @description Show what a queue uses and has left, and which nodes wait in it and why.
         *
         *     Nodes of other projects are counted and not listed.
         */
        get: operations["queue_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedulers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where work can run
         * @description Tell which schedulers this server is set up for, and which one it takes by itself.
         */
        get: operations["list_schedulers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules
         * @description List the schedules of the projects that the token sees.
         */
        get: operations["list_schedules"];
        put?: never;
        /**
         * Keep a schedule
         * @description Keep a new CronWorkflow; it is due from now on.
         */
        post: operations["create_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{project_id}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a schedule
         * @description Show a schedule.
         */
        get: operations["get_schedule"];
        /**
         * Replace a schedule
         * @description Put a CronWorkflow in the place of its older self; counts and active workflows stay.
         */
        put: operations["replace_schedule"];
        post?: never;
        /**
         * Remove a schedule
         * @description Remove a schedule and its backfills; its workflows stay.
         */
        delete: operations["delete_schedule"];
        options?: never;
        head?: never;
        /**
         * Change a schedule
         * @description Change parts of a schedule; what is not named stays.
         */
        patch: operations["change_schedule"];
        trace?: never;
    };
    "/api/v1/schedules/{project_id}/{name}/backfill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fill back
         * @description Run all slots of a range, a few at a time; it goes on after a restart.
         */
        post: operations["start_backfill"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{project_id}/{name}/backfills": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List backfills
         * @description List the backfills of a schedule, the newest first.
         */
        get: operations["list_backfills"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{project_id}/{name}/backfills/{backfill}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Cancel a backfill
         * @description Start nothing more of a backfill; what runs goes on.
         */
        delete: operations["cancel_backfill"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{project_id}/{name}/next": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The next runs
         * @description Tell when a schedule is due next, suspended or not.
         */
        get: operations["next_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{project_id}/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a schedule
         * @description Let workflows start again; a slot missed within the deadline is run.
         */
        post: operations["resume_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{project_id}/{name}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a schedule now
         * @description Run the workflow of a schedule at once, whatever its conditions and policies say.
         */
        post: operations["run_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{project_id}/{name}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suspend a schedule
         * @description Let no more workflows start; those under way go on.
         */
        post: operations["suspend_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The schema of workflow files
         * @description Give a strict JSON schema of all documents that are read here.
         */
        get: operations["get_schema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List templates
         * @description List the templates of one kind, of the projects that the token sees.
         */
        get: operations["list_templates"];
        put?: never;
        /**
         * Keep a template
         * @description Keep a WorkflowTemplate or a JobTemplate; one of the same kind and name is replaced.
         */
        post: operations["save_template"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/templates/{project_id}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a template
         * @description Show a template.
         */
        get: operations["get_template"];
        put?: never;
        post?: never;
        /**
         * Remove a template
         * @description Remove a template; workflows that began with it keep it.
         */
        delete: operations["delete_template"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tickets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A ticket for a browser
         * @description Give a ticket that opens one WebSocket or GET within 30 seconds, as ``?ticket=``.
         */
        post: operations["make_ticket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tokens
         * @description List tokens, without their secrets; admins only, of their own projects.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Make a token
         * @description Make a token. An admin of one project makes tokens for that project only.
         */
        post: operations["make_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a token
         * @description Make a token worthless, at once, streams included.
         */
        delete: operations["delete_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who asks
         * @description Tell whose token this is and what it may do.
         */
        get: operations["whoami"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List workflows
         * @description List workflows of the projects that the token sees, the newest first.
         */
        get: operations["list_workflows"];
        put?: never;
        /**
         * Submit a workflow
         * @description Take a workflow in. With an ``Idempotency-Key`` the same request is taken in only once.
         */
        post: operations["submit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a workflow
         * @description Show a workflow with its nodes (the first 1,000; the others by pages of ``…/nodes``).
         */
        get: operations["get_workflow"];
        put?: never;
        post?: never;
        /**
         * Terminate or remove a workflow
         * @description Terminate a live workflow; with ``purge``, remove it with its logs and artifacts.
         */
        delete: operations["delete_workflow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What happened
         * @description Give what was done with a workflow, and remarks of the scheduler, the oldest first.
         */
        get: operations["get_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Why nodes wait
         * @description Tell for each node that waits why it does, and when it is expected to start.
         */
        get: operations["explain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Planned and actual graph
         * @description Give the steps and tasks as written down, and the nodes as they came to be.
         */
        get: operations["get_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List nodes
         * @description List the nodes of a workflow in the order in which they were made.
         */
        get: operations["list_nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/nodes/{node_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a node
         * @description Show one node.
         */
        get: operations["get_node"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/nodes/{node_id}/artifacts/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download an artifact
         * @description Give an output artifact (or an input, if there is no such output) as it is stored.
         */
        get: operations["get_artifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/nodes/{node_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream a node's log
         * @description Give the lines of the latest attempt in order; ``follow`` goes on until the node's end.
         *
         *     ``last_bytes`` leaves out what was written long ago, so that a huge log opens at once.
         */
        get: operations["get_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/nodes/{node_id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What a node wrote
         * @description Give stdout and stderr of the latest attempt, the last 1 MiB of each.
         *
         *     Where its files are gone and ``archiveLogs`` kept the log, that comes as stdout.
         */
        get: operations["get_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/resubmit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resubmit
         * @description Run a workflow once more, as a new one.
         */
        post: operations["resubmit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume
         * @description Let a workflow, or the pauses that the selector names, go on.
         */
        post: operations["resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry
         * @description Run a workflow again from the nodes that failed; what succeeded is not run again.
         */
        post: operations["retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop
         * @description Have a workflow end early; exit handlers still run.
         */
        post: operations["stop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suspend
         * @description Have nothing new started; what runs goes on.
         */
        post: operations["suspend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/terminate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Terminate
         * @description End a workflow at once; exit handlers do not run.
         */
        post: operations["terminate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Gantt data
         * @description Give when each node was queued, started and ended.
         */
        get: operations["get_timeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{workflow_id}/yaml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The submitted text
         * @description Give the text as submitted here; for one that came another way, its manifest as YAML.
         */
        get: operations["get_yaml"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare two workflows
         * @description Give the difference of specs and parameters, and the durations node by node.
         */
        get: operations["compare"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/lint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look a text over
         * @description List all problems of a text with line and column; nothing is kept.
         */
        post: operations["lint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/simulate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Predict a schedule
         * @description Play a workflow through beside what waits and runs now, or on an idle machine; none is run.
         *
         *     Tasks take what their templates took before in the project. Of what others have there it shows
         *     nothing but the room that it takes.
         */
        post: operations["simulate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * ActiveWorkflow
         * @description A workflow of a schedule that has not ended.
         */
        ActiveWorkflow: {
            /** Id */
            id: string;
            /** Name */
            name: string;
        };
        /**
         * ActualGraph
         * @description What has been made of it.
         */
        ActualGraph: {
            /** Edges */
            edges: components["schemas"]["Edge"][];
            /** Nodes */
            nodes: components["schemas"]["GraphNode"][];
        };
        /**
         * AuditEntry
         * @description One change.
         */
        AuditEntry: {
            /** Action */
            action: string;
            /** Actor */
            actor: string;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Number */
            number: number;
            /** Object */
            object: string;
            /** Project */
            project: string;
            /** Token */
            token: string;
        };
        /**
         * BackfillShape
         * @description A backfill and how far it has come.
         */
        BackfillShape: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /**
             * End
             * Format: date-time
             */
            end: string;
            /** Failed */
            failed: number;
            /** Live */
            live: number;
            /** Max Parallel */
            max_parallel: number;
            /** Message */
            message: string;
            /** Name */
            name: string;
            /** Project Id */
            project_id: string;
            /** Schedule */
            schedule: string;
            /**
             * Start
             * Format: date-time
             */
            start: string;
            /** Started */
            started: number;
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "finished" | "cancelled" | "failed";
            /** Succeeded */
            succeeded: number;
            /** Total */
            total: number;
        };
        /**
         * Bar
         * @description One bar of a Gantt chart.
         */
        Bar: {
            /** Duration */
            duration: number | null;
            /** End Time */
            end_time: string | null;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Queued At */
            queued_at: string | null;
            /** Start Time */
            start_time: string | null;
            /** Status */
            status: string;
            /** Type */
            type: string;
        };
        /**
         * Bucket
         * @description What ended in a span of time.
         */
        Bucket: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Error */
            error: number;
            /** Failed */
            failed: number;
            /** Mean Seconds */
            mean_seconds: number | null;
            /** Succeeded */
            succeeded: number;
        };
        /**
         * Condition
         * @description Something that is wrong.
         */
        Condition: {
            /** Message */
            message: string;
            /** Type */
            type: string;
        };
        /**
         * Done
         * @description A success that gives nothing.
         */
        Done: {
            /** Message */
            message: string;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /**
         * Edge
         * @description From a node to one that came after it or inside of it.
         */
        Edge: {
            /** Source */
            source: string;
            /** Target */
            target: string;
        };
        /** Envelope[BackfillShape] */
        Envelope_BackfillShape_: {
            data: components["schemas"]["BackfillShape"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[dict[str, Any]] */
        Envelope_dict_str__Any__: {
            /** Data */
            data: {
                [key: string]: unknown;
            };
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Graph] */
        Envelope_Graph_: {
            data: components["schemas"]["Graph"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[AuditEntry]] */
        Envelope_list_AuditEntry__: {
            /** Data */
            data: components["schemas"]["AuditEntry"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[BackfillShape]] */
        Envelope_list_BackfillShape__: {
            /** Data */
            data: components["schemas"]["BackfillShape"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[Bar]] */
        Envelope_list_Bar__: {
            /** Data */
            data: components["schemas"]["Bar"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[dict[str, Any]]] */
        Envelope_list_dict_str__Any___: {
            /** Data */
            data: {
                [key: string]: unknown;
            }[];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[Event]] */
        Envelope_list_Event__: {
            /** Data */
            data: components["schemas"]["Event"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[ProjectShape]] */
        Envelope_list_ProjectShape__: {
            /** Data */
            data: components["schemas"]["ProjectShape"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[QueueShape]] */
        Envelope_list_QueueShape__: {
            /** Data */
            data: components["schemas"]["QueueShape"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[QueueUse]] */
        Envelope_list_QueueUse__: {
            /** Data */
            data: components["schemas"]["QueueUse"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[Schedule]] */
        Envelope_list_Schedule__: {
            /** Data */
            data: components["schemas"]["Schedule"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[Slot]] */
        Envelope_list_Slot__: {
            /** Data */
            data: components["schemas"]["Slot"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[Template]] */
        Envelope_list_Template__: {
            /** Data */
            data: components["schemas"]["Template"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[TokenShape]] */
        Envelope_list_TokenShape__: {
            /** Data */
            data: components["schemas"]["TokenShape"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[list[Why]] */
        Envelope_list_Why__: {
            /** Data */
            data: components["schemas"]["Why"][];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[MadeToken] */
        Envelope_MadeToken_: {
            data: components["schemas"]["MadeToken"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Node] */
        Envelope_Node_: {
            data: components["schemas"]["Node"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Output] */
        Envelope_Output_: {
            data: components["schemas"]["Output"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Overview] */
        Envelope_Overview_: {
            data: components["schemas"]["Overview"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[ProjectShape] */
        Envelope_ProjectShape_: {
            data: components["schemas"]["ProjectShape"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[QueueShape] */
        Envelope_QueueShape_: {
            data: components["schemas"]["QueueShape"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[QueueStatus] */
        Envelope_QueueStatus_: {
            data: components["schemas"]["QueueStatus"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Report] */
        Envelope_Report_: {
            data: components["schemas"]["Report"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Schedule] */
        Envelope_Schedule_: {
            data: components["schemas"]["Schedule"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[SchedulerChoice] */
        Envelope_SchedulerChoice_: {
            data: components["schemas"]["SchedulerChoice"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Self] */
        Envelope_Self_: {
            data: components["schemas"]["Self"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Simulation] */
        Envelope_Simulation_: {
            data: components["schemas"]["Simulation"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Submitted] */
        Envelope_Submitted_: {
            data: components["schemas"]["Submitted"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Summary] */
        Envelope_Summary_: {
            data: components["schemas"]["Summary"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Template] */
        Envelope_Template_: {
            data: components["schemas"]["Template"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Ticket] */
        Envelope_Ticket_: {
            data: components["schemas"]["Ticket"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Envelope[Workflow] */
        Envelope_Workflow_: {
            data: components["schemas"]["Workflow"];
            /** Message */
            message?: string | null;
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /**
         * ErrorBody
         * @description What went wrong.
         */
        ErrorBody: {
            /** Code */
            code: string;
            /** Detail */
            detail: string;
            /** Errors */
            errors: components["schemas"]["Mistake"][];
            /** Request Id */
            request_id: string;
        };
        /**
         * Event
         * @description Something that happened.
         */
        Event: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Kind */
            kind: string;
            /** Node */
            node: string;
            /** Number */
            number: number;
            /** Text */
            text: string;
        };
        /**
         * Failure
         * @description An answer to a request that failed.
         */
        Failure: {
            error: components["schemas"]["ErrorBody"];
            /** Message */
            message: string;
            /**
             * Success
             * @constant
             */
            success: false;
        };
        /**
         * Flow
         * @description How a JobFlow stands.
         */
        Flow: {
            /** Jobs */
            jobs: components["schemas"]["FlowJob"][];
            /** Kind */
            kind: string;
            /** Next */
            next: components["schemas"]["FlowStep"][];
            /**
             * Status
             * @description As Volcano shapes it.
             */
            status: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * FlowJob
         * @description A Volcano Job of a flow.
         */
        FlowJob: {
            /** Cpu Seconds */
            cpu_seconds: number;
            /**
             * Failed Before
             * @description How many of them failed.
             */
            failed_before: number;
            /** Finished At */
            finished_at: string | null;
            /**
             * Memory Bytes
             * @description The most that one pod used.
             */
            memory_bytes: number;
            /** Message */
            message: string | null;
            /** Name */
            name: string;
            /**
             * Pods
             * @description How many are in each phase.
             */
            pods: {
                [key: string]: number;
            };
            /** Restarts */
            restarts: number;
            /**
             * Runs Before
             * @description Jobs of this template in the latest runs.
             */
            runs_before: number;
            /** Started At */
            started_at: string | null;
            /**
             * State
             * @description Volcano's word.
             */
            state: string;
            /** Step */
            step: string;
        };
        /**
         * FlowStep
         * @description A step of a flow that has not begun.
         */
        FlowStep: {
            /** Step */
            step: string;
            /** Waits For */
            waits_for: components["schemas"]["FlowWait"][];
        };
        /**
         * FlowWait
         * @description Something that a step waits for.
         */
        FlowWait: {
            /** Missing */
            missing: string;
            /** State */
            state: string;
            /** Step */
            step: string;
        };
        /**
         * Graph
         * @description Both.
         */
        Graph: {
            actual: components["schemas"]["ActualGraph"];
            planned: components["schemas"]["PlannedGraph"];
        };
        /**
         * GraphNode
         * @description A node of the actual graph.
         */
        GraphNode: {
            /** Boundary Id */
            boundary_id: string | null;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Status */
            status: string;
            /** Template */
            template: string | null;
            /** Type */
            type: string;
        };
        /** Listed[Node] */
        Listed_Node_: {
            /** Data */
            data: components["schemas"]["Node"][];
            pagination: components["schemas"]["Pagination"];
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /** Listed[Summary] */
        Listed_Summary_: {
            /** Data */
            data: components["schemas"]["Summary"][];
            pagination: components["schemas"]["Pagination"];
            /**
             * Success
             * @constant
             */
            success: true;
        };
        /**
         * MadeToken
         * @description A token that was just made.
         */
        MadeToken: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Expires At */
            expires_at: string | null;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Project Id */
            project_id: string | null;
            /** Role */
            role: string;
            /**
             * Token
             * @description Shown this one time.
             */
            token: string;
        };
        /**
         * Mistake
         * @description One thing that is wrong with the input.
         */
        Mistake: {
            /** Column */
            column: number | null;
            /** Line */
            line: number | null;
            /** Message */
            message: string;
            /** Path */
            path: string;
        };
        /**
         * Node
         * @description A node of a workflow.
         */
        Node: {
            /** Attempts */
            attempts: number;
            /** Boundary Id */
            boundary_id: string | null;
            /** Children */
            children: string[];
            /**
             * Cpu
             * @description Requested, in cores.
             */
            cpu: number;
            /**
             * Cpu Used
             * @description Measured, in CPU seconds.
             */
            cpu_used: number;
            /** Dependencies */
            dependencies: string[];
            /** Display Name */
            display_name: string;
            /** Duration */
            duration: number | null;
            /** End Time */
            end_time: string | null;
            /** Id */
            id: string;
            /** Inputs */
            inputs: {
                [key: string]: unknown;
            } | null;
            /**
             * Memory
             * @description Requested, in bytes.
             */
            memory: number;
            /**
             * Memory Used
             * @description Measured at its most, in bytes.
             */
            memory_used: number;
            /** Message */
            message: string;
            /** Name */
            name: string;
            /** Outputs */
            outputs: {
                [key: string]: unknown;
            } | null;
            /** Phase */
            phase: string;
            /** Progress */
            progress: number;
            /** Start Time */
            start_time: string | null;
            /** Status */
            status: string;
            /** Template */
            template: string | null;
            /** Type */
            type: string;
            /** Waiting For */
            waiting_for: string | null;
        };
        /**
         * Output
         * @description What a node wrote.
         */
        Output: {
            /** Exit Code */
            exit_code: number | null;
            /** Stderr */
            stderr: string;
            /** Stderr Truncated */
            stderr_truncated: boolean;
            /** Stdout */
            stdout: string;
            /** Stdout Truncated */
            stdout_truncated: boolean;
        };
        /**
         * Overview
         * @description All of it.
         */
        Overview: {
            /** Buckets */
            buckets: components["schemas"]["Bucket"][];
            /**
             * Cpu
             * @description Cores that there are.
             */
            cpu: number;
            /** Hours */
            hours: number;
            /**
             * Memory
             * @description Bytes that there are.
             */
            memory: number;
            /**
             * Now
             * Format: date-time
             */
            now: string;
            /** Pending */
            pending: number;
            /** Running */
            running: number;
            /** Use */
            use: components["schemas"]["Use"][];
            /** Waits */
            waits: components["schemas"]["Waits"][];
        };
        /**
         * Pagination
         * @description Which part of a list this is.
         */
        Pagination: {
            /**
             * At Least
             * @description True where a long list is still being counted: there may be more.
             */
            at_least?: boolean | null;
            /** Limit */
            limit: number;
            /** Page */
            page: number;
            /** Total */
            total: number;
        };
        /**
         * PlannedGraph
         * @description What the spec says.
         */
        PlannedGraph: {
            /** Edges */
            edges: components["schemas"]["Edge"][];
            /** Entrypoint */
            entrypoint: string | null;
            /** Nodes */
            nodes: components["schemas"]["PlannedNode"][];
            /** On Exit */
            on_exit: string | null;
        };
        /**
         * PlannedNode
         * @description A step or task as it is written down.
         */
        PlannedNode: {
            /** Calls */
            calls: string;
            /** Id */
            id: string;
            /** Loop */
            loop: boolean;
            /** Name */
            name: string;
            /** Template */
            template: string;
            /**
             * Type
             * @description Of the called template, where it is in the same spec.
             */
            type: string | null;
            /** When */
            when: string | null;
        };
        /**
         * ProjectShape
         * @description A project.
         */
        ProjectShape: {
            /** Created At */
            created_at: string | null;
            /** Created By */
            created_by: string;
            /** Description */
            description: string;
            /** Id */
            id: string;
            /** Name */
            name: string;
        };
        /**
         * QueueShape
         * @description A queue as it is defined.
         */
        QueueShape: {
            /** Borrowing Limit */
            borrowing_limit: {
                [key: string]: string;
            } | null;
            /** Capability */
            capability: {
                [key: string]: string;
            } | null;
            /** Created At */
            created_at: string | null;
            /** Description */
            description: string;
            /** Guarantee */
            guarantee: {
                [key: string]: string;
            } | null;
            /** Id */
            id: string;
            /** Lending Limit */
            lending_limit: {
                [key: string]: string;
            } | null;
            /** Max Parallel */
            max_parallel: number | null;
            /** Name */
            name: string;
            /** Parent */
            parent: string;
            /** Preemption */
            preemption: string;
            /** Priority */
            priority: number;
            /** Quota */
            quota: {
                [key: string]: string;
            };
            /** Reclaimable */
            reclaimable: boolean;
            /** Scheduler */
            scheduler: string;
            /** Sla Seconds */
            sla_seconds: number | null;
            /**
             * Status
             * @enum {string}
             */
            status: "open" | "closing" | "closed" | "unknown";
        };
        /**
         * QueueStats
         * @description Workflows of a queue.
         */
        QueueStats: {
            /** Failed */
            failed: number;
            /** Running */
            running: number;
            /** Succeeded */
            succeeded: number;
            /** Waiting */
            waiting: number;
        };
        /**
         * QueueStatus
         * @description How full a queue is.
         */
        QueueStatus: {
            /** Allocated */
            allocated: {
                [key: string]: string;
            };
            /** Available */
            available: {
                [key: string]: string;
            };
            /** Id */
            id: string;
            /** Name */
            name: string;
            /**
             * Pod Groups
             * @description Of a queue of Volcano: pod groups by phase.
             */
            pod_groups?: {
                [key: string]: number;
            } | null;
            /** Quota */
            quota: {
                [key: string]: string;
            };
            /** Reserved */
            reserved: {
                [key: string]: string;
            };
            stats: components["schemas"]["QueueStats"];
            /**
             * Status
             * @enum {string}
             */
            status: "open" | "closing" | "closed" | "unknown";
            /** Waiting */
            waiting: components["schemas"]["Waiting"][];
            /**
             * Workloads
             * @description Of a queue of Kueue: workloads that wait, reserve quota, run.
             */
            workloads?: {
                [key: string]: number;
            } | null;
        };
        /**
         * QueueUse
         * @description What a queue held at one instant.
         */
        QueueUse: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Cpu */
            cpu: number;
            /** Memory */
            memory: number;
            /**
             * Waiting
             * @description Nodes in line.
             */
            waiting: number;
        };
        /**
         * Report
         * @description What is wrong with a text.
         */
        Report: {
            /** Problems */
            problems: components["schemas"]["Mistake"][];
            /** Valid */
            valid: boolean;
        };
        /**
         * Schedule
         * @description A schedule and what has become of it.
         */
        Schedule: {
            /** Active */
            active: components["schemas"]["ActiveWorkflow"][];
            /**
             * Concurrency Policy
             * @enum {string}
             */
            concurrency_policy: "Allow" | "Forbid" | "Replace";
            /** Conditions */
            conditions: components["schemas"]["Condition"][];
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Failed */
            failed: number;
            /** Last Run */
            last_run: string | null;
            /** Manifest */
            manifest: {
                [key: string]: unknown;
            };
            /** Name */
            name: string;
            /** Next Run */
            next_run: string | null;
            /**
             * Phase
             * @enum {string}
             */
            phase: "active" | "stopped";
            /** Project Id */
            project_id: string;
            /** Schedules */
            schedules: string[];
            /** Starting Deadline Seconds */
            starting_deadline_seconds: number | null;
            /** Succeeded */
            succeeded: number;
            /** Suspended */
            suspended: boolean;
            /**
             * Timezone
             * @description The server's own, if null.
             */
            timezone: string | null;
        };
        /**
         * SchedulerChoice
         * @description What a workflow may name as its scheduler.
         */
        SchedulerChoice: {
            /**
             * Available
             * @description Those that are set up; local always is.
             */
            available: string[];
            /**
             * Default
             * @description Of workflows that name none.
             */
            default: string;
        };
        /**
         * Self
         * @description Who asks.
         */
        Self: {
            /** Expires At */
            expires_at: string | null;
            /** Name */
            name: string;
            /** Project Id */
            project_id: string | null;
            /** Role */
            role: string;
            /** Token Id */
            token_id: string;
        };
        /**
         * SimulatedTask
         * @description When a task would run, in seconds from the submission.
         */
        SimulatedTask: {
            /** End */
            end: number;
            /** Id */
            id: string;
            /** Preempted */
            preempted: number;
            /** Queue */
            queue: string;
            /** Ready */
            ready: number;
            /** Start */
            start: number;
            /** Workflow */
            workflow: string;
        };
        /**
         * Simulation
         * @description The predicted schedule.
         */
        Simulation: {
            /** Gantt */
            gantt: components["schemas"]["SimulatedTask"][];
            /** Report */
            report: {
                [key: string]: unknown;
            };
        };
        /**
         * Slot
         * @description A time at which a schedule is due.
         */
        Slot: {
            /**
             * At
             * Format: date-time
             */
            at: string;
        };
        /**
         * Submitted
         * @description A workflow that was just taken in.
         */
        Submitted: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Estimated Duration */
            estimated_duration: number | null;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Queue Id */
            queue_id: string | null;
            /** Scheduler */
            scheduler: string;
            /**
             * Status
             * @enum {string}
             */
            status: "pending" | "running" | "succeeded" | "failed" | "error";
            /** Workflow Name */
            workflow_name: string;
        };
        /**
         * Summary
         * @description A workflow in a list.
         */
        Summary: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** End Time */
            end_time: string | null;
            /** Id */
            id: string;
            /**
             * Message
             * @description In lists, its first 200 characters.
             */
            message: string;
            /** Name */
            name: string;
            /** Priority */
            priority: number;
            /** Progress */
            progress: number;
            /** Project Id */
            project_id: string;
            /** Queue Id */
            queue_id: string | null;
            /** Scheduler */
            scheduler: string;
            /** Start Time */
            start_time: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "pending" | "running" | "succeeded" | "failed" | "error";
            /** Suspended */
            suspended: boolean;
            /**
             * Workflow Name
             * @description The name that it really got; unique in its project.
             */
            workflow_name: string;
        };
        /**
         * Template
         * @description A template that is kept; of a JobTemplate, ``templates`` are its tasks.
         */
        Template: {
            /** Entrypoint */
            entrypoint: string;
            /** Kind */
            kind: string;
            /** Manifest */
            manifest: {
                [key: string]: unknown;
            };
            /** Name */
            name: string;
            /** Project Id */
            project_id: string | null;
            /** Templates */
            templates: string[];
            /**
             * Updated At
             * Format: date-time
             */
            updated_at: string;
        };
        /**
         * Ticket
         * @description A single-use ticket for a WebSocket, or a GET, as ``?ticket=``.
         */
        Ticket: {
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
            /** Ticket */
            ticket: string;
        };
        /**
         * TokenShape
         * @description A token, without its secret.
         */
        TokenShape: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Expires At */
            expires_at: string | null;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Project Id */
            project_id: string | null;
            /** Role */
            role: string;
        };
        /**
         * Use
         * @description What was in use at one instant.
         */
        Use: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /**
             * Cpu
             * @description Held by running work, in cores.
             */
            cpu: number;
            /**
             * Load
             * @description The machine's own.
             */
            load: number | null;
            /**
             * Machine Memory
             * @description In use on the machine, in bytes.
             */
            machine_memory: number | null;
            /**
             * Memory
             * @description Held by running work, in bytes.
             */
            memory: number;
            /**
             * Running
             * @description Workflows under way.
             */
            running: number;
            /**
             * Waiting
             * @description Nodes that wait for their turn.
             */
            waiting: number;
        };
        /**
         * Waiting
         * @description A node that waits, and why.
         */
        Waiting: {
            /** Expected Start */
            expected_start: string | null;
            /** Name */
            name: string;
            /** Node Id */
            node_id: string;
            /** Reason */
            reason: string;
            /** Workflow Id */
            workflow_id: string;
        };
        /**
         * Waits
         * @description How long starts of one queue have waited in the span.
         */
        Waits: {
            /** Count */
            count: number;
            /** P50 */
            p50: number;
            /** P95 */
            p95: number;
            /** Queue Id */
            queue_id: string;
        };
        /**
         * Why
         * @description Why a node waits; one that does not exist yet has no id.
         */
        Why: {
            /** Detail */
            detail: {
                [key: string]: unknown;
            } | null;
            /** Expected Start */
            expected_start: string | null;
            /** Name */
            name: string;
            /** Node Id */
            node_id: string | null;
            /** Reason */
            reason: string;
        };
        /**
         * Workflow
         * @description A workflow.
         */
        Workflow: {
            /**
             * Cpu Used
             * @description CPU seconds of all nodes.
             */
            cpu_used: number;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: string;
            /** Description */
            description: string;
            /** Duration */
            duration: number | null;
            /** End Time */
            end_time: string | null;
            /** Estimated Duration */
            estimated_duration: number | null;
            /** Estimated End Time */
            estimated_end_time: string | null;
            /** @description Of a JobFlow or a Volcano Job. */
            flow: components["schemas"]["Flow"] | null;
            /** Id */
            id: string;
            /**
             * Memory Used
             * @description The most that one task used, in bytes.
             */
            memory_used: number;
            /**
             * Message
             * @description In lists, its first 200 characters.
             */
            message: string;
            /** Name */
            name: string;
            /**
             * Nodes
             * @description The first 1,000.
             */
            nodes: components["schemas"]["Node"][];
            /** Nodes Total */
            nodes_total: number;
            /**
             * Parameters
             * @description What it was given.
             */
            parameters: {
                [key: string]: string | null;
            };
            /** Priority */
            priority: number;
            /** Progress */
            progress: number;
            /** Project Id */
            project_id: string;
            /** Queue Id */
            queue_id: string | null;
            /** Scheduler */
            scheduler: string;
            /** Start Time */
            start_time: string | null;
            /**
             * Status
             * @enum {string}
             */
            status: "pending" | "running" | "succeeded" | "failed" | "error";
            /** Suspended */
            suspended: boolean;
            /**
             * Workflow Name
             * @description The name that it really got; unique in its project.
             */
            workflow_name: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_audit: {
        parameters: {
            query?: {
                /** @description The last number seen. */
                after?: number;
                /** @description Those before this number, the latest first. */
                before?: number | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_AuditEntry__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_backup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A database of SQLite, checked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.sqlite3": unknown;
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description Admins of all projects only. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The store is in PostgreSQL: back it up with pg_dump. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_cluster_templates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_Template__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    save_cluster_template: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Project Id
                     * @description Of a WorkflowTemplate.
                     */
                    project_id?: string | null;
                    /** Template Yaml */
                    template_yaml: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Template_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_cluster_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Template_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    delete_cluster_template: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    overview: {
        parameters: {
            query?: {
                buckets?: number;
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Overview_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    queue_history: {
        parameters: {
            query?: {
                hours?: number;
            };
            header?: never;
            path: {
                queue_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_QueueUse__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_projects: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_ProjectShape__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    make_project: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "training",
                 *       "name": "Model training"
                 *     }
                 */
                "application/json": {
                    /**
                     * Description
                     * @default
                     */
                    description?: string;
                    /** Id */
                    id: string;
                    /**
                     * Name
                     * @default
                     */
                    name?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_ProjectShape_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_project: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_ProjectShape_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    delete_project: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_queue_plans: {
        parameters: {
            query?: {
                /** @description Whose queues; as configured, if not given. */
                scheduler?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_dict_str__Any___"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_queue_plan: {
        parameters: {
            query?: {
                /** @description Whose queues; as configured, if not given. */
                scheduler?: string | null;
            };
            header?: never;
            path: {
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_dict_str__Any__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    put_queue_plan: {
        parameters: {
            query?: {
                /** @description Refuse a queue that is there already. */
                new?: boolean;
                /** @description Whose queues; as configured, if not given. */
                scheduler?: string | null;
            };
            header?: never;
            path: {
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "capability": {
                 *         "cpu": "4"
                 *       },
                 *       "fair": true,
                 *       "weight": 3
                 *     }
                 */
                "application/json": {
                    /** Borrowinglimit */
                    borrowingLimit?: {
                        [key: string]: string | number;
                    } | null;
                    /** Capability */
                    capability?: {
                        [key: string]: string | number;
                    } | null;
                    /** Deserved */
                    deserved?: {
                        [key: string]: string | number;
                    } | null;
                    /**
                     * Fair
                     * @description Workflows take turns by share.
                     */
                    fair?: boolean | null;
                    /** Guarantee */
                    guarantee?: {
                        [key: string]: string | number;
                    } | null;
                    /** Lendinglimit */
                    lendingLimit?: {
                        [key: string]: string | number;
                    } | null;
                    /**
                     * Maxparallel
                     * @description Workflows at once.
                     */
                    maxParallel?: number | null;
                    /** Parent */
                    parent?: string | null;
                    /** Preempt */
                    preempt?: ("Never" | "LowerPriority" | "LowerOrNewerEqualPriority") | null;
                    /**
                     * Preset
                     * @description Begin from interactive, batch or analytics.
                     */
                    preset?: string | null;
                    /**
                     * Priority
                     * @description Served first.
                     */
                    priority?: number | null;
                    /**
                     * Reclaim
                     * @description Whether it takes back what it is due.
                     */
                    reclaim?: boolean | null;
                    /** Reclaimable */
                    reclaimable?: boolean | null;
                    /** Slaseconds */
                    slaSeconds?: number | null;
                    /** State */
                    state?: ("Open" | "Closed") | null;
                    /**
                     * Strict
                     * @description Strictly first in, first out.
                     */
                    strict?: boolean | null;
                    /**
                     * Weight
                     * @description Its share among siblings.
                     */
                    weight?: number | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_dict_str__Any__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    delete_queue_plan: {
        parameters: {
            query?: {
                /** @description Whose queues; as configured, if not given. */
                scheduler?: string | null;
            };
            header?: never;
            path: {
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    set_queue_plan_state: {
        parameters: {
            query?: {
                /** @description Whose queues; as configured, if not given. */
                scheduler?: string | null;
            };
            header?: never;
            path: {
                queue: string;
                state: "open" | "close";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_dict_str__Any__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_queues: {
        parameters: {
            query?: {
                scheduler?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_QueueShape__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    make_queue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "batch",
                 *       "quota_cpu": "2",
                 *       "quota_memory": "4Gi"
                 *     }
                 */
                "application/json": {
                    /** Borrowing Limit */
                    borrowing_limit?: {
                        [key: string]: string | number;
                    } | null;
                    /** Capability */
                    capability?: {
                        [key: string]: string | number;
                    } | null;
                    /** Description */
                    description?: string | null;
                    /** Guarantee */
                    guarantee?: {
                        [key: string]: string | number;
                    } | null;
                    /** Lending Limit */
                    lending_limit?: {
                        [key: string]: string | number;
                    } | null;
                    /**
                     * Max Parallel
                     * @description Workflows at once.
                     */
                    max_parallel?: number | null;
                    /** Name */
                    name: string;
                    /** Parent */
                    parent?: string | null;
                    /** Preemption */
                    preemption?: ("Never" | "LowerPriority" | "LowerOrNewerEqualPriority") | null;
                    /**
                     * Priority
                     * @description The weight of its share.
                     */
                    priority?: number | null;
                    /**
                     * Quota
                     * @description Further resources, such as nvidia.com/gpu.
                     */
                    quota?: {
                        [key: string]: string | number;
                    } | null;
                    /** Quota Cpu */
                    quota_cpu?: string | number | null;
                    /** Quota Memory */
                    quota_memory?: string | number | null;
                    /** Reclaimable */
                    reclaimable?: boolean | null;
                    /**
                     * Scheduler
                     * @default local
                     * @enum {string}
                     */
                    scheduler?: "local" | "volcano" | "kueue";
                    /** Sla Seconds */
                    sla_seconds?: number | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_QueueShape_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_QueueShape_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    delete_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    change_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Borrowing Limit */
                    borrowing_limit?: {
                        [key: string]: string | number;
                    } | null;
                    /** Capability */
                    capability?: {
                        [key: string]: string | number;
                    } | null;
                    /** Description */
                    description?: string | null;
                    /** Guarantee */
                    guarantee?: {
                        [key: string]: string | number;
                    } | null;
                    /** Lending Limit */
                    lending_limit?: {
                        [key: string]: string | number;
                    } | null;
                    /**
                     * Max Parallel
                     * @description Workflows at once.
                     */
                    max_parallel?: number | null;
                    /** Parent */
                    parent?: string | null;
                    /** Preemption */
                    preemption?: ("Never" | "LowerPriority" | "LowerOrNewerEqualPriority") | null;
                    /**
                     * Priority
                     * @description The weight of its share.
                     */
                    priority?: number | null;
                    /**
                     * Quota
                     * @description Further resources, such as nvidia.com/gpu.
                     */
                    quota?: {
                        [key: string]: string | number;
                    } | null;
                    /** Quota Cpu */
                    quota_cpu?: string | number | null;
                    /** Quota Memory */
                    quota_memory?: string | number | null;
                    /** Reclaimable */
                    reclaimable?: boolean | null;
                    /** Sla Seconds */
                    sla_seconds?: number | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_QueueShape_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    close_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_QueueShape_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    open_queue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_QueueShape_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    queue_status: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                queue_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_QueueStatus_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_schedulers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_SchedulerChoice_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_schedules: {
        parameters: {
            query?: {
                project_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_Schedule__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    create_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "project_id": "default",
                 *       "schedule_yaml": "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nmetadata:\n  name: nightly\nspec:\n  schedules: [\"30 2 * * *\"]\n  timezone: Europe/Berlin\n  concurrencyPolicy: Forbid\n  startingDeadlineSeconds: 3600\n  workflowSpec:\n    entrypoint: main\n    templates:\n      - name: main\n        container:\n          image: alpine\n          command: [echo, \"{{workflow.scheduledTime}}\"]\n"
                 *     }
                 */
                "application/json": {
                    /** Project Id */
                    project_id: string;
                    /** Schedule Yaml */
                    schedule_yaml: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Schedule_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Schedule_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    replace_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "schedule_yaml": "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nmetadata:\n  name: nightly\nspec:\n  schedules: [\"30 2 * * *\"]\n  timezone: Europe/Berlin\n  concurrencyPolicy: Forbid\n  startingDeadlineSeconds: 3600\n  workflowSpec:\n    entrypoint: main\n    templates:\n      - name: main\n        container:\n          image: alpine\n          command: [echo, \"{{workflow.scheduledTime}}\"]\n"
                 *     }
                 */
                "application/json": {
                    /** Schedule Yaml */
                    schedule_yaml: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Schedule_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    delete_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    change_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "schedules": [
                 *         "0 3 * * *"
                 *       ],
                 *       "timezone": "Asia/Tokyo"
                 *     }
                 */
                "application/json": {
                    /** Concurrency Policy */
                    concurrency_policy?: ("Allow" | "Forbid" | "Replace") | null;
                    /** Failed Jobs History Limit */
                    failed_jobs_history_limit?: number | null;
                    /** Schedules */
                    schedules?: string[] | null;
                    /** Starting Deadline Seconds */
                    starting_deadline_seconds?: number | null;
                    /**
                     * Stop Expression
                     * @description Empty: none.
                     */
                    stop_expression?: string | null;
                    /** Successful Jobs History Limit */
                    successful_jobs_history_limit?: number | null;
                    /** Suspend */
                    suspend?: boolean | null;
                    /** Timezone */
                    timezone?: string | null;
                    /** When */
                    when?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Schedule_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    start_backfill: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "end": "2026-01-31T23:59:59Z",
                 *       "max_parallel": 2,
                 *       "start": "2026-01-01T00:00:00Z"
                 *     }
                 */
                "application/json": {
                    /**
                     * End
                     * Format: date-time
                     */
                    end: string;
                    /**
                     * Max Parallel
                     * @default 1
                     */
                    max_parallel?: number;
                    /**
                     * Name
                     * @description One is made up, if not given.
                     */
                    name?: string | null;
                    /**
                     * Parameter
                     * @description Gets the slot's time, if given.
                     * @default
                     */
                    parameter?: string;
                    /**
                     * Start
                     * Format: date-time
                     */
                    start: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_BackfillShape_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_backfills: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_BackfillShape__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    cancel_backfill: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                backfill: string;
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_BackfillShape_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    next_runs: {
        parameters: {
            query?: {
                /** @description From now, if not given. */
                after?: string | null;
                count?: number;
            };
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_Slot__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    resume_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Schedule_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    run_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** Parameters */
                    parameters?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Submitted_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    suspend_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Schedule_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_schema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_dict_str__Any__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_templates: {
        parameters: {
            query?: {
                kind?: "WorkflowTemplate" | "JobTemplate";
                project_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_Template__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    save_template: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Project Id
                     * @description Of a WorkflowTemplate.
                     */
                    project_id?: string | null;
                    /** Template Yaml */
                    template_yaml: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Template_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_template: {
        parameters: {
            query?: {
                kind?: "WorkflowTemplate" | "JobTemplate";
            };
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Template_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    delete_template: {
        parameters: {
            query?: {
                kind?: "WorkflowTemplate" | "JobTemplate";
            };
            header?: never;
            path: {
                name: string;
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    make_ticket: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Good for one use. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Ticket_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_TokenShape__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    make_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "ci",
                 *       "project_id": "training",
                 *       "role": "member"
                 *     }
                 */
                "application/json": {
                    /**
                     * Expires In
                     * @description Seconds.
                     */
                    expires_in?: number | null;
                    /** Name */
                    name: string;
                    /**
                     * Project Id
                     * @description None: all projects; for admins of all only.
                     */
                    project_id?: string | null;
                    /**
                     * Role
                     * @enum {string}
                     */
                    role: "admin" | "member" | "viewer";
                };
            };
        };
        responses: {
            /** @description The secret is shown this one time. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_MadeToken_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    delete_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    whoami: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Self_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_workflows: {
        parameters: {
            query?: {
                created_after?: string | null;
                created_before?: string | null;
                limit?: number;
                /** @description A part of it. */
                name?: string | null;
                page?: number;
                project_id?: string | null;
                queue_id?: string | null;
                scheduler?: string | null;
                /** @description created_at or -created_at */
                sort?: string;
                /** @description Repeatable. */
                status?: string[] | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Listed_Summary_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    submit: {
        parameters: {
            query?: never;
            header?: {
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "hello",
                 *       "parameters": {
                 *         "who": "Tiphys"
                 *       },
                 *       "priority": "high",
                 *       "project_id": "default",
                 *       "workflow_yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata:\n  generateName: hello-\nspec:\n  entrypoint: main\n  arguments:\n    parameters:\n      - {name: who, value: world}\n  templates:\n    - name: main\n      inputs:\n        parameters:\n          - {name: who, value: \"{{workflow.parameters.who}}\"}\n      container:\n        image: alpine\n        command: [echo, \"hello {{inputs.parameters.who}}\"]\n"
                 *     }
                 */
                "application/json": {
                    /** Annotations */
                    annotations?: {
                        [key: string]: string;
                    };
                    /**
                     * Description
                     * @default
                     */
                    description?: string;
                    /**
                     * Entrypoint
                     * @description The template to begin with.
                     * @default
                     */
                    entrypoint?: string;
                    /**
                     * Estimated Cpu
                     * @description For people; such as 500m.
                     */
                    estimated_cpu?: string | null;
                    /**
                     * Estimated Memory
                     * @description For people; such as 1Gi.
                     */
                    estimated_memory?: string | null;
                    /**
                     * Generate Name
                     * @description Whether the name gets a suffix at any rate.
                     * @default false
                     */
                    generate_name?: boolean;
                    /** Labels */
                    labels?: {
                        [key: string]: string;
                    };
                    /**
                     * Name
                     * @description Letters a-z, digits, '-' and '.'; need not be unique.
                     */
                    name: string;
                    /** Parameters */
                    parameters?: {
                        [key: string]: string;
                    };
                    /**
                     * Priority
                     * @description What the workflow says itself, if not given; else normal.
                     */
                    priority?: number | ("critical" | "high" | "normal" | "low") | null;
                    /** Project Id */
                    project_id: string;
                    /**
                     * Queue Id
                     * @description The default queue, if not given.
                     */
                    queue_id?: string | null;
                    /**
                     * Scheduler
                     * @description Where its tasks run: on this machine, or on a cluster. As the server is configured, if not given: local, unless somebody has changed that.
                     */
                    scheduler?: ("local" | "k8s-native" | "argo-default" | "volcano" | "kueue") | null;
                    /**
                     * Workflow Yaml
                     * @description An Argo Workflow; templates, config maps and secrets may stand beside it.
                     */
                    workflow_yaml: string;
                };
            };
        };
        responses: {
            /** @description It is safely stored. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Submitted_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Workflow_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    delete_workflow: {
        parameters: {
            query?: {
                purge?: boolean;
            };
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_events: {
        parameters: {
            query?: {
                /** @description The last number seen. */
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_Event__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    explain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_Why__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_graph: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Graph_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    list_nodes: {
        parameters: {
            query?: {
                limit?: number;
                page?: number;
            };
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Listed_Node_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node_id: string;
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Node_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_artifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                node_id: string;
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bytes as stored. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_logs: {
        parameters: {
            query?: {
                container?: string | null;
                follow?: boolean;
                /** @description Of each stream. */
                last_bytes?: number | null;
            };
            header?: never;
            path: {
                node_id: string;
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One JSON object a line; server-sent events where asked for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example {"time":"2026-11-15T12:00:00.000Z","stream":"stdout","container":"main","text":"hello"} */
                    "application/x-ndjson": unknown;
                    "text/event-stream": unknown;
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_output: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node_id: string;
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Output_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    resubmit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * Memoized
                     * @default false
                     */
                    memoized?: boolean;
                    /** Parameters */
                    parameters?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description The new workflow. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Summary_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * Message
                     * @default
                     */
                    message?: string;
                    /**
                     * Node Selector
                     * @default
                     * @example displayName=approve
                     */
                    node_selector?: string;
                    /** Parameters */
                    parameters?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Summary_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    retry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * Node Selector
                     * @default
                     * @example templateName=flaky
                     */
                    node_selector?: string;
                    /** Parameters */
                    parameters?: {
                        [key: string]: string;
                    };
                    /**
                     * Restart Successful
                     * @default false
                     */
                    restart_successful?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Summary_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    stop: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * Message
                     * @default
                     */
                    message?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Summary_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    suspend: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Summary_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    terminate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Summary_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description It is not in a state for this. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_timeline: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_list_Bar__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    get_yaml: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description YAML */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    /**
                     * @example apiVersion: argoproj.io/v1alpha1
                     *     kind: Workflow
                     *     metadata:
                     *       generateName: hello-
                     *     spec:
                     *       entrypoint: main
                     *       arguments:
                     *         parameters:
                     *           - {name: who, value: world}
                     *       templates:
                     *         - name: main
                     *           inputs:
                     *             parameters:
                     *               - {name: who, value: "{{workflow.parameters.who}}"}
                     *           container:
                     *             image: alpine
                     *             command: [echo, "hello {{inputs.parameters.who}}"]
                     */
                    "application/yaml": unknown;
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    compare: {
        parameters: {
            query: {
                a: string;
                b: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_dict_str__Any__"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    lint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "workflow_yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata:\n  generateName: hello-\nspec:\n  entrypoint: main\n  arguments:\n    parameters:\n      - {name: who, value: world}\n  templates:\n    - name: main\n      inputs:\n        parameters:\n          - {name: who, value: \"{{workflow.parameters.who}}\"}\n      container:\n        image: alpine\n        command: [echo, \"hello {{inputs.parameters.who}}\"]\n"
                 *     }
                 */
                "application/json": {
                    /** Project Id */
                    project_id?: string | null;
                    /**
                     * Strict
                     * @default true
                     */
                    strict?: boolean;
                    /** Workflow Yaml */
                    workflow_yaml: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Report_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
    simulate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "default_seconds": 30,
                 *       "workflow_yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata:\n  generateName: hello-\nspec:\n  entrypoint: main\n  arguments:\n    parameters:\n      - {name: who, value: world}\n  templates:\n    - name: main\n      inputs:\n        parameters:\n          - {name: who, value: \"{{workflow.parameters.who}}\"}\n      container:\n        image: alpine\n        command: [echo, \"hello {{inputs.parameters.who}}\"]\n"
                 *     }
                 */
                "application/json": {
                    /**
                     * Default Seconds
                     * @description What a task takes whose template never ran in the project.
                     * @default 60
                     */
                    default_seconds?: number;
                    /**
                     * Idle
                     * @description Whether to leave out what waits and runs now.
                     * @default false
                     */
                    idle?: boolean;
                    /** Parameters */
                    parameters?: {
                        [key: string]: string;
                    };
                    /**
                     * Priority
                     * @description What the workflow says itself, if not given.
                     */
                    priority?: number | ("critical" | "high" | "normal" | "low") | null;
                    /**
                     * Project Id
                     * @description Whose history counts; if not given, the token's own or the default one's.
                     */
                    project_id?: string | null;
                    /**
                     * Queue Id
                     * @description What the workflow says itself, if not given.
                     */
                    queue_id?: string | null;
                    /** Workflow Yaml */
                    workflow_yaml: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope_Simulation_"];
                };
            };
            /** @description The request cannot be read. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description No token that holds. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description There is no such thing, or it belongs to another project. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The body is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
            /** @description The input cannot be used; every problem is listed. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Failure"];
                };
            };
        };
    };
}
