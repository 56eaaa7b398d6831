// Written by `npm run docs:api` from the OpenAPI document.
export interface paths {
  '/api/admin/v1/projects': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list projects with their credits
     * @description `tollgate projects list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_projects_list'];
    put?: never;
    /**
     * create a project with an empty account and show its callback secret
     * @description `tollgate projects create`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_projects_create'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/projects/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show a project with its credits and its settings
     * @description `tollgate projects show`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_projects_show'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * change settings of a project; `none` removes one
     * @description `tollgate projects set`.
     *
     *     Needs the role `operator`.
     */
    patch: operations['patch_projects_set'];
    trace?: never;
  };
  '/api/admin/v1/projects/{id}/disable': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * reject all keys of a project; its running tasks finish and are charged
     * @description `tollgate projects disable`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_projects_disable'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/projects/{id}/enable': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * accept the keys of a project again
     * @description `tollgate projects enable`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_projects_enable'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/projects/{id}/secret': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show the callback secret, and the previous one while both sign
     * @description `tollgate projects secret show`.
     *
     *     Needs the role `owner`.
     */
    get: operations['get_projects_secret_show'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/projects/{id}/secret/rotate': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * create a new callback secret; both secrets sign for 24 hours
     * @description `tollgate projects secret rotate`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_projects_secret_rotate'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/keys': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list keys with their limits and usage, without secrets
     * @description `tollgate keys list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_keys_list'];
    put?: never;
    /**
     * create a key and show its secret, this once
     * @description `tollgate keys create`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_keys_create'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/keys/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show a key with its limits, their use and who created it, without its secret
     * @description `tollgate keys show`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_keys_show'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * change the limits of a key; `none` removes a limit
     * @description `tollgate keys set`.
     *
     *     Needs the role `operator`.
     */
    patch: operations['patch_keys_set'];
    trace?: never;
  };
  '/api/admin/v1/keys/{id}/rotate': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * give a key a new secret and show it once; the old secret works for 24 more hours
     * @description `tollgate keys rotate`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_keys_rotate'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/keys/{id}/revoke': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * revoke a key immediately and permanently
     * @description `tollgate keys revoke`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_keys_revoke'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/credits': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show the balance of a project, how much of it is reserved, and which credits expire
     * @description `tollgate credits show`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_credits_show'];
    put?: never;
    /**
     * add credits, once per reference
     * @description `tollgate credits add`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_credits_add'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/credits/redeem': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * give a project the credits of a redemption code of a former gateway, once
     * @description `tollgate credits redeem`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_credits_redeem'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/credits/deduct': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * take credits out of a project, once per reference, for a payment that was refunded or charged back
     * @description `tollgate credits deduct`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_credits_deduct'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/credits/adjust': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * give back credits that a task or chat was charged, once per reason
     * @description `tollgate credits adjust`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_credits_adjust'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/channels': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list channels by priority, with the state of each and the reason for it
     * @description `tollgate channels list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_channels_list'];
    put?: never;
    /**
     * add a channel, which serves requests immediately
     * @description `tollgate channels add`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_channels_add'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/channels/{channel}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show a channel with its state, the reason for it, its credentials and its limits
     * @description `tollgate channels show`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_channels_show'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * change a channel; a new credential or URL also resets its health
     * @description `tollgate channels set`. The inputs credential, credential_add, credential_remove, base_url, adapter need `owner`.
     *
     *     Needs the role `operator`.
     */
    patch: operations['patch_channels_set'];
    trace?: never;
  };
  '/api/admin/v1/channels/probe': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * check a provider for free before it is added as a channel; exits 1 on a failure
     * @description `tollgate channels probe`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_channels_probe'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/channels/{channel}/test': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * call a provider in a way that costs nothing; exits 1 unless the call succeeds
     * @description `tollgate channels test`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_channels_test'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/channels/{channel}/verify': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * check the credential and every model of a channel for free; --live makes one real call per model; exits 1 on a failure
     * @description `tollgate channels verify`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_channels_verify'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/channels/{channel}/history': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show the attempts of a channel over time, how they ended and how long they took
     * @description `tollgate channels history`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_channels_history'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/channels/{channel}/enable': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * let a channel serve new requests
     * @description `tollgate channels enable`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_channels_enable'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/channels/{channel}/disable': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * give a channel no new requests; accepted jobs continue
     * @description `tollgate channels disable`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_channels_disable'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/catalog/check': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * report the errors of a catalog and what each model earns; exits 1 if a request costs more than the client pays, and warns above 5 times its cost
     * @description `tollgate catalog check`.
     *
     *     Needs the role `viewer`.
     */
    post: operations['post_catalog_check'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/catalog': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the models of the catalog
     * @description `tollgate catalog list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_catalog_list'];
    /**
     * check a catalog, then replace the models with it
     * @description `tollgate catalog apply`.
     *
     *     Needs the role `operator`.
     */
    put: operations['put_catalog_apply'];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/catalog/{model}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the models of the catalog, or show one model in full
     * @description `tollgate catalog show`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_catalog_show'];
    /**
     * check the entry of one model, then replace it; the other models stay
     * @description `tollgate catalog set`.
     *
     *     Needs the role `operator`.
     */
    put: operations['put_catalog_set'];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/models': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the models in short, each with its state, its price and its smallest margin
     * @description `tollgate catalog models`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_catalog_models'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/plans': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the plans
     * @description `tollgate plans list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_plans_list'];
    put?: never;
    /**
     * create a plan
     * @description `tollgate plans create`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_plans_create'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/plans/{name}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show a plan, the price of every model under it, and the rules that can never match
     * @description `tollgate plans show`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_plans_show'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * replace the rules of a plan; what is already held keeps its price
     * @description `tollgate plans set`.
     *
     *     Needs the role `operator`.
     */
    patch: operations['patch_plans_set'];
    trace?: never;
  };
  '/api/admin/v1/plans/{name}/delete': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * delete a plan that no project has
     * @description `tollgate plans delete`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_plans_delete'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/tasks': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list admitted tasks, newest first
     * @description `tollgate tasks list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_tasks_list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/tasks/{id}/content': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show a task as its client sees it, and every provider call made for it
     * @description `tollgate tasks show`.
     *
     *     Needs the role `operator`.
     */
    get: operations['get_tasks_show'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/tasks/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show what happened to a task, without its prompt and its results
     * @description `tollgate tasks timeline`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_tasks_timeline'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/tasks/{id}/resolve': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * record what became of a task with an unknown outcome; the task itself does not change
     * @description `tollgate tasks resolve`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_tasks_resolve'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/tasks/{id}/adopt': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * store a result that the provider bills as the output of a task that failed or was canceled
     * @description `tollgate tasks adopt`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_tasks_adopt'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/tasks/{id}/cancel': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * end a task and refund it, whatever state its provider job is in
     * @description `tollgate tasks cancel`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_tasks_cancel'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/tasks/{id}/redeliver': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * send the callback of an ended task again, under a new id
     * @description `tollgate tasks redeliver`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_tasks_redeliver'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/chats': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list chats, those that run and then those that ended, newest first
     * @description `tollgate chats list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_chats_list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/chats/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show a chat, its calls to providers, and why it ended as it did
     * @description `tollgate chats show`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_chats_show'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/requests': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list requests of all types, those that run and then those that ended, newest first
     * @description `tollgate requests list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_requests_list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/requests/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show any request by its id: why it ended as it did and what it cost, also if it was refused before any credits were held
     * @description `tollgate requests show`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_requests_show'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/deliveries': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list callbacks with their tries, newest first
     * @description `tollgate deliveries list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_deliveries_list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/projects/{project}/test-callback': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * send a signed sample of a callback to a URL, once; exits 1 unless it is accepted
     * @description `tollgate webhooks send-test`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_webhooks_send_test'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/jobs': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the runs of all jobs, newest first
     * @description `tollgate jobs list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_jobs_list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/jobs/{name}/run': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * run a job now, in this process, unless it is already running
     * @description `tollgate jobs run`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_jobs_run'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/ledger': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the entries of a project, newest first
     * @description `tollgate ledger list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_ledger_list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/ledger/verify': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * add up all entries and check every invariant; exits 1 when one is violated
     * @description `tollgate ledger verify`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_ledger_verify'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/secrets/reseal': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * encrypt every secret again with the first key of MASTER_KEYS, so that older keys can be removed
     * @description `tollgate secrets reseal`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_secrets_reseal'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/usage': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * add up requests, credits, cost and tokens, newest day first
     * @description `tollgate usage`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_usage'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/summary': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show revenue and cost of a month, as last computed by the maintenance job
     * @description `tollgate summary`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_summary'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/search': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * find anything by its id, by a part of its name, or by the first or last characters of a key
     * @description `tollgate search`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_search'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/overview': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show the traffic and the margin of today against yesterday, and every alarm with what to do
     * @description `tollgate overview show`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_overview_show'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/alarms': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the alarms that fire, and those that fired in the last week
     * @description `tollgate alarms list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_alarms_list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/alarms/silences': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the silences that have not ended, the next end first
     * @description `tollgate alarms silences`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_alarms_silences'];
    put?: never;
    /**
     * send no webhook and no mail for an alarm for a while; its log lines and its metric stay
     * @description `tollgate alarms silence`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_alarms_silence'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/alarms/silences/{id}/end': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * end a silence before its time
     * @description `tollgate alarms unsilence`.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_alarms_unsilence'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/audit': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list changes by operators, newest first
     * @description `tollgate audit list`.
     *
     *     Needs the role `viewer`.
     */
    get: operations['get_audit_list'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/admin-tokens': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the tokens for the admin API, without the tokens themselves
     * @description `tollgate admin-tokens list`.
     *
     *     Needs the role `owner`.
     */
    get: operations['get_admin_tokens_list'];
    put?: never;
    /**
     * create a token for the admin API and show it, this once
     * @description `tollgate admin-tokens create`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_admin_tokens_create'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/admin-tokens/{id}/revoke': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * revoke a token immediately and permanently, and end its sessions
     * @description `tollgate admin-tokens revoke`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_admin_tokens_revoke'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/operators': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * list the people who may sign in to the console by OIDC
     * @description `tollgate operators list`.
     *
     *     Needs the role `owner`.
     */
    get: operations['get_operators_list'];
    put?: never;
    /**
     * let a person sign in to the console by OIDC, with a role
     * @description `tollgate operators add`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_operators_add'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/operators/{id}/remove': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * remove a person immediately, and end its sessions
     * @description `tollgate operators remove`.
     *
     *     Needs the role `owner`.
     */
    post: operations['post_operators_remove'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/session': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show who is signed in
     * @description Needs the role `viewer`.
     */
    get: operations['get_api_admin_v1_session'];
    put?: never;
    /**
     * sign in to the console with a token
     * @description Needs no token.
     */
    post: operations['post_api_admin_v1_session'];
    /**
     * sign out
     * @description Needs the role `viewer`.
     */
    delete: operations['delete_api_admin_v1_session'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/session/options': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show the ways to sign in beside a token
     * @description Needs no token.
     */
    get: operations['get_api_admin_v1_session_options'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/session/oidc': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * sign in to the console by OIDC
     * @description For a browser. What is checked when it comes back is in a cookie for ten minutes.
     *
     *     Needs no token.
     */
    get: operations['get_api_admin_v1_session_oidc'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/session/oidc/callback': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * come back from the identity provider
     * @description For a browser, with the parameters that the identity provider adds.
     *
     *     Needs no token.
     */
    get: operations['get_api_admin_v1_session_oidc_callback'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/playground/key': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * get a short-lived API key for the playground
     * @description An operator has one such key for each project. A second request gives it a new secret.
     *
     *     Needs the role `operator`.
     */
    post: operations['post_api_admin_v1_playground_key'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/api/admin/v1/openapi.json': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * show this document
     * @description Needs no token.
     */
    get: operations['get_api_admin_v1_openapi_json'];
    put?: never;
    post?: never;
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
    Account: {
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /** @description Credits that nothing holds. Negative after a deduction or within an overdraft. */
      balance: number;
      /** @description Credits that running requests hold. */
      reserved: number;
      /** @description What is left of the credits that expire, the first end first. They are part of the balance. */
      expiring: {
        credits: number;
        /**
         * @description Unix seconds.
         * @example 1795478400
         */
        expires_at: number;
      }[];
    };
    AddedOperator: {
      /** @example opr_01ky4m8r5t0v2x6z9b3d7f1h4k */
      operator_id: string;
      /** @description What is allowed but may be a mistake. */
      warnings?: string[];
    };
    AdjustedCredits: {
      /**
       * @description The task, or the request of a chat.
       * @example task_01ky4m8r5t0v2x6z9b3d7f1h4k
       */
      task_id: string;
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /** @description The credits that this request gave back. 0 if it was repeated. */
      given: number;
      charged: number;
      given_in_all: number;
      balance: number;
    };
    AdminToken: {
      /** @example atk_01ky4m8r5t0v2x6z9b3d7f1h4k */
      token_id: string;
      name: string;
      /** @enum {string} */
      role: 'viewer' | 'operator' | 'owner';
      /** @enum {string} */
      state: 'active' | 'expired' | 'revoked';
      /** @description The first characters of the token. */
      prefix: string;
      last4: string;
      created_by: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      expires_at: number | null;
      revoked_at: number | null;
      last_used_at: number | null;
    };
    AdoptedResult: {
      /** @example task_01ky4m8r5t0v2x6z9b3d7f1h4k */
      task_id: string;
      /** @description False if everything was as asked before, so that nothing changed. */
      changed: boolean;
      /** @description Credits that this request charged. */
      charged: number;
      /** @description Credits that were charged for the result, by this request or an earlier one. */
      charged_in_all: number;
      output: components['schemas']['TaskOutput'][] | null;
    };
    Alarm: {
      /** @enum {string} */
      kind: 'channel' | 'temporal' | 'installation' | 'unknown_outcome' | 'callbacks' | 'job';
      /**
       * @description Why it fires.
       * @example account
       */
      name: string;
      /** @description The channel or the job that it is about, or empty. */
      subject: string;
      /** @description How many alarms have this cause, such as those of the channels at one host. */
      count: number;
      /** @description What the alarms of this name are about, `subject` first. */
      subjects: string[];
      /** @description The alarms of other names with this cause. */
      also: {
        /**
         * @description Why it fires.
         * @example account
         */
        name: string;
        /** @description The channel or the job that it is about, or empty. */
        subject: string;
        message: string;
      }[];
      message: string;
      /** @description What to do. */
      remedy: string;
      since: number | null;
      /** @description Who wants no webhook and no mail of it until when. Null if it is not silenced. */
      silence: components['schemas']['Silence'] | null;
    };
    AnsweredRequest: {
      /** @description Why it was answered so, and that it cost nothing, in sentences for people. */
      explanation: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      answered_at: number;
      method: string;
      /** @description Its template. */
      route: string;
      /** @description 499: the client left before the answer began. */
      status: number;
      /** @description Null for an answer without an error, and for what an earlier release answered. */
      error_code:
        | (
            | 'invalid_json'
            | 'invalid_value'
            | 'missing_parameter'
            | 'unsupported_parameter'
            | 'previous_response_not_found'
            | 'model_type_mismatch'
            | 'context_length_exceeded'
            | 'invalid_image'
            | 'invalid_multipart'
            | 'invalid_url'
            | 'invalid_callback_url'
            | 'ambiguous_credentials'
            | 'content_policy_violation'
            | 'invalid_api_key'
            | 'invalid_job_token'
            | 'invalid_admin_token'
            | 'sign_in_failed'
            | 'invalid_metrics_token'
            | 'insufficient_credits'
            | 'key_budget_exceeded'
            | 'max_credits_exceeded'
            | 'model_not_allowed'
            | 'scope_not_allowed'
            | 'ip_not_allowed'
            | 'origin_not_allowed'
            | 'role_not_allowed'
            | 'unknown_operator'
            | 'cross_site_request'
            | 'model_not_found'
            | 'task_not_found'
            | 'file_not_found'
            | 'not_found'
            | 'method_not_allowed'
            | 'request_timeout'
            | 'idempotency_in_progress'
            | 'idempotency_result_gone'
            | 'version_conflict'
            | 'action_refused'
            | 'task_not_cancelable'
            | 'task_canceled'
            | 'task_not_ended'
            | 'task_without_callback'
            | 'task_content_erased'
            | 'payload_too_large'
            | 'unsupported_media_type'
            | 'idempotency_key_reused'
            | 'rate_limit_exceeded'
            | 'concurrency_limit_exceeded'
            | 'storage_quota_exceeded'
            | 'internal_error'
            | 'upstream_error'
            | 'no_channel_available'
            | 'service_unavailable'
            | 'overloaded'
            | 'upstream_timeout'
          )
        | null;
      /** @description How long it took. */
      ms: number;
      key_id: string | null;
      key_name: string | null;
      project_id: string | null;
      project_name: string | null;
      /** @description Null if the request was refused before its model was known. */
      model: string | null;
      /** @description What may be sent to the customer: it names no channel and no provider. */
      for_customer: string;
    };
    AppliedCatalog: {
      added: string[];
      changed: string[];
      removed: string[];
      warnings: string[];
      /** @description With `dry_run`: every member that would change, such as `gpt-6-luna pricing.credits_per_request`. */
      differences?: {
        member: string;
        before: unknown;
        after: unknown;
      }[];
      /** @description How many further members differ. */
      members_omitted?: number;
      /** @description With `dry_run`: the version of the present catalog. */
      version?: string;
    };
    AttemptDetail: {
      n: number;
      channel: string;
      /** @description Null while it runs. */
      outcome: ('ok' | 'refused' | 'transient' | 'unknown' | 'canceled') | null;
      error_class: string | null;
      /** @description The provider's HTTP status, if it answered. */
      status: number | null;
      /** @description The codes of the provider's answer, and what became of the call. Never what the prompt says. */
      detail: string | null;
      code: string | null;
      /** @description The provider's reference of the job. */
      operation: {
        [key: string]: unknown;
      } | null;
      /** @description By the catalog. 0 if the call bought nothing. */
      cost_micro_usd: number;
      /** @description The cost of the call is unknown: the provider may have billed it. `cost_micro_usd` is 0 then. */
      cost_unknown: boolean;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      started_at: number;
      submitted_at: number | null;
      ended_at: number | null;
      took_ms: number | null;
      /** @description While the job is parked: when the provider is asked again. */
      next_poll_at: number | null;
    };
    AuditEntry: {
      id: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      at: number;
      actor: string;
      /** @example keys.revoke */
      action: string;
      /** @description What was changed: a project, key, channel, task or token. */
      subject: string;
      /** @description What changed, as it was. Null for a creation, and for a look at a secret or a content. */
      before: {
        [key: string]: unknown;
      } | null;
      /** @description The same as it is now. Null for a look. */
      after: {
        [key: string]: unknown;
      } | null;
      /** @description What else is worth knowing, such as the reference of a payment. */
      detail: {
        [key: string]: unknown;
      };
    };
    BegunSilence: {
      /** @example sil_01ky4m8r5t0v2x6z9b3d7f1h4k */
      silence_id: string;
      /**
       * @description Why it fires.
       * @example account
       */
      name: string;
      /** @description The only channel or job that it covers, or empty for all. */
      subject: string;
      reason: string;
      created_by: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      until: number;
      /** @description What is allowed but may be a mistake. */
      warnings?: string[];
    };
    CanceledTask: {
      /** @example task_01ky4m8r5t0v2x6z9b3d7f1h4k */
      task_id: string;
      /** @enum {string} */
      status: 'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled';
      /** @description False if the task had ended before, so that nothing changed. */
      ended: boolean;
      /** @description Credits that this request refunded. */
      refunded: number;
      /** @description Otherwise its workflow finds out later that the task has ended. */
      workflow_told: boolean;
    };
    CatalogCheck: {
      /** @description False if a request costs more than the client pays. */
      ok: boolean;
      models: number;
      credit_value_micro_usd: number;
      losses: number;
      data: {
        model: string;
        /** @enum {string} */
        type: 'image' | 'video' | 'chat';
        status: string;
        /** @description retired, hidden, ending while its end is announced by a day or by its status, or else the status. */
        state: string;
        /** @description Why the model may lose, by family. */
        loss_ok: {
          [key: string]: string;
        };
        margins: components['schemas']['Margin'][];
        ratios: components['schemas']['PriceRatios'][];
        losses: components['schemas']['Margin'][];
      }[];
      warnings: string[];
    };
    CatalogEntry: {
      id: string;
      /** @constant */
      object: 'model';
      /** @enum {string} */
      type: 'image' | 'video' | 'chat';
      owned_by: string;
      display_name: string;
      group: string;
      capability: string;
      description: string | null;
      status: string;
      pricing: {
        /** @enum {string} */
        unit: 'request' | 'tokens';
        credits_per_request: number;
        credits_per_1k_input_tokens: number;
        credits_per_1k_output_tokens: number;
        min_credits_per_request: number;
        credits_per_1k_cached_input_tokens?: number;
        credits_per_1k_cache_write_tokens?: number;
        credits_per_1k_cache_write_1h_tokens?: number;
        credits_per_1k_reasoning_tokens?: number;
        long_input?: {
          above_tokens: number;
          credits_per_1k_input_tokens?: number;
          credits_per_1k_output_tokens?: number;
          credits_per_1k_cached_input_tokens?: number;
          credits_per_1k_cache_write_tokens?: number;
          credits_per_1k_cache_write_1h_tokens?: number;
          credits_per_1k_reasoning_tokens?: number;
        };
      };
      parameters: {
        prompt?: boolean;
        image?: boolean;
        video_url?: boolean;
        audio_url?: boolean;
        reference_images?: boolean;
        negative_prompt?: boolean;
        messages?: boolean;
        stream?: boolean;
        temperature?: boolean;
        max_tokens?: boolean;
        variants?: boolean;
        generate_audio?: boolean;
        img_size?: string[];
        aspect_ratio?: string[];
        duration?: number[];
        resolution?: string[];
        pricingRules?: {
          match: {
            /** @enum {string} */
            key: 'img_size' | 'duration';
            value: string | number;
            all?: {
              key: string;
              value: string | number | boolean;
            }[];
          };
          credits: number;
        }[];
        fields?: {
          key: string;
          label: string;
          /** @enum {string} */
          type: 'enum' | 'number' | 'boolean';
          options?: (string | number)[];
          min?: number;
          max?: number;
          step?: number;
          default?: string | number | boolean;
          description?: string;
        }[];
        examples?: {
          label: string;
          values: {
            [key: string]: unknown;
          };
        }[];
      } & {
        [key: string]: unknown;
      };
      catalogVisible?: boolean;
      private: {
        public: boolean;
        retired?: string;
        /** Format: date */
        ends_on?: string;
        loss_ok?: string;
        groups: string[];
        variant_field: string | null;
        reference_images_max: number;
        image_tokens: number;
        context_tokens: number | null;
        max_tokens?: {
          min: number;
          default: number;
        };
        max_output_tokens?: number;
        session_affinity?: boolean;
        aliases: {
          [key: string]: {
            [key: string]: unknown;
          };
        };
        upstream: {
          [key: string]: {
            model: string;
            model_by?: {
              key: string;
              values: {
                [key: string]: string;
              };
            };
            path_by_input?: {
              video_url?: string;
              reference_images?: string;
              image?: string;
              none?: string;
            };
            cost:
              | {
                  when?: {
                    [key: string]: (string | number | boolean) | (string | number | boolean)[];
                  };
                  per_request?: number;
                  per_second?: number;
                  per_image?: number;
                }[]
              | {
                  per_million: {
                    above_input_tokens?: number;
                    input: number;
                    output: number;
                    cached_input?: number;
                    cache_write?: number;
                    cache_write_1h?: number;
                    reasoning?: number;
                  }[];
                };
            verified?: {
              source: string;
              /** Format: date */
              on: string;
            };
            price_key?: string;
            price_differs?: string;
            loss_ok?: string;
            parameters: {
              [key: string]:
                | (
                    | {
                        name: string;
                        values?: {
                          [key: string]: unknown;
                        };
                      }
                    | {
                        name: string;
                        values?: {
                          [key: string]: unknown;
                        };
                      }[]
                  )
                | null;
            };
            sends?: {
              when: {
                [key: string]: (string | number | boolean) | (string | number | boolean)[];
              };
              fields: {
                [key: string]: unknown;
              };
            }[];
            fixed?: {
              [key: string]: unknown;
            };
            pass_through?: string[];
            only?: {
              [key: string]: (string | number | boolean)[];
            };
            refuses?: {
              [key: string]: (string | number | boolean) | (string | number | boolean)[];
            }[];
            no_forced_tools?: boolean;
            tools_max?: number;
            documents?: {
              page_tokens: number;
              likely_page_tokens: number;
            };
            /** @enum {string} */
            thinking?: 'adaptive' | 'budget';
            /** @enum {string} */
            thinking_off?: 'between_tools' | 'never';
            efforts?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max')[];
            /** @enum {string} */
            api?: 'responses';
            system_turns?: boolean;
            vendor?: string;
            keeps_reasoning?: boolean;
            inputs?: {
              image?: string;
              reference_images?: string;
              video_url?: string;
              audio_url?: string;
            };
          };
        };
      };
    };
    ChangedPlan: {
      /** @example partners */
      name: string;
      /** @description The first rule that names a model decides about it. */
      rules: components['schemas']['PlanRule'][];
      /** @description False if everything was as asked before, so that nothing changed. */
      changed: boolean;
      /** @description What is allowed but may be a mistake. */
      warnings?: string[];
    };
    Channel: {
      /** @example chn_01ky4m8r5t0v2x6z9b3d7f1h4k */
      channel_id: string;
      name: string;
      /** @description The provider family. */
      adapter: string;
      base_url: string;
      /** @description Serves the models in these groups of the catalog. */
      groups: string[];
      /** @description Lower numbers are tried first. */
      priority: number;
      /** @description The share among channels of one priority. 0 is never drawn. */
      weight: number;
      /** @description Whether a model that the provider's list lacks is not drawn. */
      list_check: boolean;
      enabled: boolean;
      /**
       * @description The most serious of its `reasons`.
       * @enum {string}
       */
      state: 'ready' | 'disabled' | 'open' | 'half_open' | 'resting' | 'alarm' | 'not_drawn';
      /** @description Why it, or one of its models, is not available or needs an operator. */
      reasons: components['schemas']['ChannelReason'][];
      /** @description The oldest first. Calls use those that are not resting in turn; while all are, so is the channel. */
      credentials: components['schemas']['ChannelCredential'][];
      limits: components['schemas']['ChannelLimits'];
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
    };
    ChannelCredential: {
      id: string;
      /** @description The last characters of the secret, if they are known. */
      last4: string | null;
      /**
       * @description `resting`: it cools down after a 429 or an account error. `alarm`: it needs an operator, until a call succeeds.
       * @enum {string}
       */
      state: 'ready' | 'resting' | 'alarm';
      reason: string | null;
      since: number | null;
      until: number | null;
      limits: components['schemas']['ChannelLimits'];
    };
    ChannelHistory: {
      /** @example chn_01ky4m8r5t0v2x6z9b3d7f1h4k */
      channel_id: string;
      name: string;
      hours: number;
      /** @description 60 up to three hours, else 3,600. */
      bucket_seconds: number;
      /** @description One for each minute or hour, oldest first. The last one has just begun. */
      data: components['schemas']['HistoryPoint'][];
    };
    ChannelLimits: {
      /** @description Requests in a minute. Null: no limit. */
      rpm: number | null;
      /** @description Tokens in a minute, of chats. */
      tpm: number | null;
      /** @description Calls and jobs at the same time. */
      parallel: number | null;
      /** @description What counts now. Calls are counted only while there is a limit. */
      used: {
        rpm: number;
        tpm: number;
        parallel: number;
      };
      /** @description The limit that is reached, so that it is not drawn. */
      not_drawn: ('rpm' | 'tpm' | 'parallel') | null;
      /** @description When it may be called again; while `parallel` is reached, when it is asked again. */
      until: number | null;
    };
    ChannelReason: {
      /**
       * @description `open`: the circuit breaker is tripped. `half_open`: the next call is the probe. `resting`: it cools down after a 429 or an account error, or the provider does not know the model. `alarm`: it needs an operator, until a call succeeds. `not_drawn`: the provider's list lacks the model.
       * @enum {string}
       */
      kind: 'open' | 'half_open' | 'resting' | 'alarm' | 'not_drawn';
      /** @description `*` for all models. */
      model: string;
      reason: string | null;
      since: number | null;
      until: number | null;
      /** @description Failures in a row since the last trip. */
      failures: number;
      /** @description Trips since the last success. Each one lasts longer. */
      opens: number;
    };
    ChannelSettings: {
      /** @example chn_01ky4m8r5t0v2x6z9b3d7f1h4k */
      channel_id: string;
      name: string;
      /** @description The provider family. */
      adapter: string;
      base_url: string;
      /** @description Serves the models in these groups of the catalog. */
      groups: string[];
      /** @description Lower numbers are tried first. */
      priority: number;
      /** @description The share among channels of one priority. 0 is never drawn. */
      weight: number;
      /** @description Whether a model that the provider's list lacks is not drawn. */
      list_check: boolean;
      /** @description The id of the credential that was added. */
      credential_id?: string;
      /** @description What is allowed but may be a mistake. */
      warnings?: string[];
    };
    ChatCall: {
      n: number;
      channel: string;
      /** @description Null while it runs. */
      outcome: ('ok' | 'refused' | 'transient' | 'unknown') | null;
      error_class: string | null;
      /** @description The provider's HTTP status, if it answered. */
      status: number | null;
      /** @description The code of the error. Never what the prompt or the answer says. */
      detail: string | null;
      cost_micro_usd: number;
      /** @description The cost of the call is unknown: the provider may have billed it. `cost_micro_usd` is 0 then. */
      cost_unknown: boolean;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      started_at: number;
      ended_at: number | null;
      took_ms: number | null;
    };
    ChatRow: {
      /** @example req_01ky4m8r5t0v2x6z9b3d7f1h4k */
      request_id: string;
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      model: string;
      /**
       * @description `running`: its credits are held. `succeeded`: charged for a whole answer. `incomplete`: charged for what came of an answer that broke off, perhaps 0. `refunded`: the hold was given back.
       * @enum {string}
       */
      outcome: 'running' | 'succeeded' | 'incomplete' | 'refunded';
      /** @description Why it was refunded, or why a charged answer is not whole or cost nothing. `not_delivered`, too, of a chat that was charged and given back. Null for a whole answer, for a chat that runs, and for what an earlier release ended. */
      reason: components['schemas']['EndReason'] | null;
      /** @description That were called, in order. Only the last one once the rows of old calls are deleted. */
      channels: string[];
      /** @description Null unless it was charged. */
      input_tokens: number | null;
      /** @description Null unless it was charged. */
      output_tokens: number | null;
      cached_input_tokens: number | null;
      cache_write_tokens: number | null;
      cache_write_1h_tokens: number | null;
      reasoning_tokens: number | null;
      /** @description The provider did not count the tokens. */
      usage_estimated: boolean;
      credits: {
        /** @description For the worst case, when it began. */
        reserved: number;
        charged: number;
        /** @description The whole reservation of a refunded chat; else what adjustments gave back after the charge. */
        refunded: number;
      };
      /** @description Of all its calls, by the catalog. */
      cost_micro_usd: number;
      /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
      unknown_costs: number;
      /**
       * @description When its credits were reserved.
       * @example 1795478400
       */
      created_at: number;
      ended_at: number | null;
      took_ms: number | null;
    };
    ChatTimeline: {
      /** @example req_01ky4m8r5t0v2x6z9b3d7f1h4k */
      request_id: string;
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      model: string;
      /**
       * @description `running`: its credits are held. `succeeded`: charged for a whole answer. `incomplete`: charged for what came of an answer that broke off, perhaps 0. `refunded`: the hold was given back.
       * @enum {string}
       */
      outcome: 'running' | 'succeeded' | 'incomplete' | 'refunded';
      /** @description Why it was refunded, or why a charged answer is not whole or cost nothing. `not_delivered`, too, of a chat that was charged and given back. Null for a whole answer, for a chat that runs, and for what an earlier release ended. */
      reason: components['schemas']['EndReason'] | null;
      /** @description That were called, in order. Only the last one once the rows of old calls are deleted. */
      channels: string[];
      /** @description Null unless it was charged. */
      input_tokens: number | null;
      /** @description Null unless it was charged. */
      output_tokens: number | null;
      cached_input_tokens: number | null;
      cache_write_tokens: number | null;
      cache_write_1h_tokens: number | null;
      reasoning_tokens: number | null;
      /** @description The provider did not count the tokens. */
      usage_estimated: boolean;
      credits: {
        /** @description For the worst case, when it began. */
        reserved: number;
        charged: number;
        /** @description The whole reservation of a refunded chat; else what adjustments gave back after the charge. */
        refunded: number;
      };
      /** @description Of all its calls, by the catalog. */
      cost_micro_usd: number;
      /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
      unknown_costs: number;
      /**
       * @description When its credits were reserved.
       * @example 1795478400
       */
      created_at: number;
      ended_at: number | null;
      took_ms: number | null;
      /** @description Why it ended as it did, in sentences. */
      explanation: string;
      /** @description What may be sent to the customer: it names no channel and no provider. */
      for_customer: string;
      /** @description While it runs: when it is refunded if no process ends it. */
      expires_at: number | null;
      /** @description The calls to providers, in order. */
      attempts_detail: components['schemas']['ChatCall'][];
      ledger: components['schemas']['LedgerEntry'][];
    };
    CreatedAdminToken: {
      /** @example atk_01ky4m8r5t0v2x6z9b3d7f1h4k */
      token_id: string;
      /**
       * @description The token, which is shown only here.
       * @example adm_…
       */
      token: string;
    };
    CreatedKey: {
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      /**
       * @description The secret, which is shown only here.
       * @example sk-…
       */
      api_key: string;
      /** @description What is allowed but may be a mistake. */
      warnings?: string[];
    };
    CreatedProject: {
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /**
       * @description Signs the callbacks.
       * @example whsec_…
       */
      webhook_secret: string;
    };
    Credits: {
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /** @description Credits that nothing holds. Negative after a deduction or within an overdraft. */
      balance: number;
      /** @description Credits that running requests hold. */
      reserved: number;
    };
    DeletedPlan: {
      /** @example partners */
      name: string;
      /** @constant */
      deleted: true;
    };
    Delivery: {
      delivery_id: string;
      /** @constant */
      object: 'delivery';
      /** @description The `webhook-id`, the same for all tries. */
      event_id: string;
      /** @enum {string} */
      state: 'pending' | 'delivered' | 'exhausted' | 'gone' | 'blocked' | 'replaced';
      attempts: number;
      last_status: number | null;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      ended_at: number | null;
      next_attempt_at: number | null;
      /** @description Kept for 30 days. */
      tries: {
        n: number;
        /**
         * @description Unix seconds.
         * @example 1795478400
         */
        started_at: number;
        ended_at: number | null;
        /** @description The receiver's HTTP status, if it answered. */
        status: number | null;
        /** @description The class of the failure. */
        error: string | null;
      }[];
    };
    /**
     * @description Of a task: the code of its error. Of a chat:
     *     - `request_refused`: The provider refused the request as invalid.
     *     - `content_policy_violation`: The provider's content policy refused the request.
     *     - `context_length_exceeded`: The provider refused the request because it is longer than the context of the model.
     *     - `upstream_rate_limited`: The last channel that was called was over the rate limit of its provider.
     *     - `upstream_unreachable`: The provider of the last channel that was called could not be reached.
     *     - `upstream_timeout`: The provider did not answer, or did not go on, in time.
     *     - `upstream_interrupted`: The call to the provider broke off before the answer ended.
     *     - `upstream_failed`: The provider answered with an error, or with what cannot be used.
     *     - `client_left`: The client closed its connection before the answer ended.
     *     - `gateway_stopped`: The API server stopped before the answer ended.
     *     - `internal_error`: An error of the gateway ended the chat. The log has it with the request id.
     *     - `hold_expired`: The reservation expired before the chat ended: its API server was gone, or had no answer in time.
     *     - `admitted_late`: The credits were reserved only after the client had been answered with an error. No provider was called.
     *     - `not_delivered`: The answer was not delivered, because the database did not acknowledge its charge in time.
     *     - `empty_answer`: The provider answered without content, which costs nothing.
     * @enum {string}
     */
    EndReason:
      | 'request_refused'
      | 'content_policy_violation'
      | 'context_length_exceeded'
      | 'upstream_rate_limited'
      | 'upstream_unreachable'
      | 'upstream_timeout'
      | 'upstream_interrupted'
      | 'upstream_failed'
      | 'client_left'
      | 'gateway_stopped'
      | 'internal_error'
      | 'hold_expired'
      | 'admitted_late'
      | 'not_delivered'
      | 'empty_answer'
      | 'upstream_invalid_response'
      | 'upstream_outcome_unknown'
      | 'task_timeout'
      | 'no_channel_available'
      | 'output_unavailable'
      | 'canceled';
    EndedRun: {
      /** @example run_01ky4m8r5t0v2x6z9b3d7f1h4k */
      run_id: string;
      /** @enum {string} */
      name:
        | 'process-pending-callbacks'
        | 'check-stale-media-tasks'
        | 'check-api-channels'
        | 'scheduled-maintenance'
        | 'check-balances';
      /** @constant */
      ran: true;
      /** @enum {string} */
      state: 'succeeded' | 'failed';
      /** @description Counts of what the run did, by name. */
      summary: {
        [key: string]: unknown;
      };
    };
    EndedSilence: {
      /** @example sil_01ky4m8r5t0v2x6z9b3d7f1h4k */
      silence_id: string;
      /**
       * @description Why it fires.
       * @example account
       */
      name: string;
      /** @description The only channel or job that it covers, or empty for all. */
      subject: string;
      reason: string;
      created_by: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      until: number;
      /** @description False if everything was as asked before, so that nothing changed. */
      changed: boolean;
    };
    HistoryPoint: {
      /**
       * @description The beginning of the minute or hour, in unix seconds.
       * @example 1795478400
       */
      at: number;
      attempts: number;
      ok: number;
      /** @description The provider refused the request itself. Says nothing about the channel. */
      refused: number;
      transient: number;
      unknown: number;
      /** @description Of the successful ones, to 5 %. Null if there was none. */
      p50_ms: number | null;
      p95_ms: number | null;
    };
    JobRun: {
      /** @example run_01ky4m8r5t0v2x6z9b3d7f1h4k */
      run_id: string;
      /** @enum {string} */
      name:
        | 'process-pending-callbacks'
        | 'check-stale-media-tasks'
        | 'check-api-channels'
        | 'scheduled-maintenance'
        | 'check-balances';
      /** @enum {string} */
      trigger: 'schedule' | 'endpoint' | 'loop' | 'operator';
      /**
       * @description `requested`: a worker is about to run it. `lost`: the process that ran it has ended.
       * @enum {string}
       */
      state: 'requested' | 'running' | 'succeeded' | 'failed' | 'lost';
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      requested_at: number;
      started_at: number | null;
      ended_at: number | null;
      summary: {
        [key: string]: unknown;
      } | null;
    };
    Key: {
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /** @enum {string} */
      state: 'active' | 'expired' | 'revoked';
      /** @description Whether it is a key of the playground, whose limits and secret cannot be changed. */
      playground: boolean;
      /** @description The first characters of the newest secret. */
      prefix: string | null;
      last4: string | null;
      name: string;
      metadata: {
        [key: string]: string;
      };
      scopes: ('chat' | 'media' | 'read')[];
      /** @description The addresses that may use the key, as CIDRs. Null: any. */
      ip_ranges: string[] | null;
      /** @description Null: every model. */
      models: string[] | null;
      /** @description POST requests in any 60 seconds. */
      rpm: number | null;
      /** @description Tasks and chats that may run at the same time. */
      in_flight_max: number | null;
      /** @description Credits over its lifetime. */
      budget: number | null;
      /** @description Credits each day, UTC. */
      budget_daily: number | null;
      /** @description Credits each month, UTC. */
      budget_monthly: number | null;
      expires_at: number | null;
      /** @description Tasks and chats that run. */
      in_flight: number;
      spent: number;
      reserved: number;
      /** @description Spent and reserved by the requests of this day, UTC. */
      used_today: number;
      used_this_month: number;
      revoked_at: number | null;
      last_used_at: number | null;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
    };
    KeyLimits: {
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      name: string;
      metadata: {
        [key: string]: string;
      };
      scopes: ('chat' | 'media' | 'read')[];
      /** @description The addresses that may use the key, as CIDRs. Null: any. */
      ip_ranges: string[] | null;
      /** @description Null: every model. */
      models: string[] | null;
      /** @description POST requests in any 60 seconds. */
      rpm: number | null;
      /** @description Tasks and chats that may run at the same time. */
      in_flight_max: number | null;
      /** @description Credits over its lifetime. */
      budget: number | null;
      /** @description Credits each day, UTC. */
      budget_daily: number | null;
      /** @description Credits each month, UTC. */
      budget_monthly: number | null;
      expires_at: number | null;
      /** @description What is allowed but may be a mistake. */
      warnings?: string[];
    };
    LedgerEntry: {
      entry_id: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      at: number;
      /** @enum {string} */
      kind: 'topup' | 'settle' | 'refund' | 'adjust' | 'deduct' | 'expiry';
      /** @description Negative if the entry takes credits. */
      credits: number;
      /** @description The balance before plus `credits`, reserved credits included. */
      balance_after: number;
      task_id: string | null;
      /** @description The `x-request-id` of a chat. */
      request_id: string | null;
      key_id: string | null;
      /** @description The operator's reference of a top-up or a deduction, or reason of an adjustment by an operator. Of an expiry: that of the top-up. */
      reference: string | null;
      /** @description Of a refund: why. Of a chat's settlement: why the answer is not whole or cost nothing. Of an adjustment: `not_delivered` if the answer of a charged chat was not delivered. Of a deduction: what the operator wrote. Null otherwise, and for what an earlier release ended. */
      reason: (components['schemas']['EndReason'] | string) | null;
      /** @description Of a chat's settlement: the tokens that were charged. Null otherwise. */
      input_tokens: number | null;
      cached_input_tokens: number | null;
      cache_write_tokens: number | null;
      cache_write_1h_tokens: number | null;
      reasoning_tokens: number | null;
      /** @description As `input_tokens`. */
      output_tokens: number | null;
    };
    LedgerReport: {
      ok: boolean;
      /** @description The checkpoint whose sums were trusted. Null if all entries were added up. */
      since: {
        checkpoint_id: number;
        through_entry_id: number;
        /** Format: date-time */
        covers_until: string;
      } | null;
      /** @description By name, `C1` and so on. */
      invariants: {
        [key: string]: {
          /** @description The sentence that is true if there is no breach. */
          promise: string;
          breaches: number;
          /** @description Ids of up to ten that break the invariant. */
          examples: string[];
        };
      };
    };
    ListedAlarm: {
      /**
       * @description Why it fires.
       * @example account
       */
      name: string;
      /** @description The channel or the job that it is about, or empty. */
      subject: string;
      /**
       * @description `fired`: its log line was written in the last week.
       * @enum {string}
       */
      state: 'firing' | 'fired';
      message: string;
      since: number | null;
      /** @description When its log line was last written. Null if it is only shown and never logged. */
      last_at: number | null;
      /** @description How often it was written since it was quiet for a day. */
      count: number | null;
      /** @description Who wants no webhook and no mail of it until when. Null if it is not silenced. */
      silence: components['schemas']['Silence'] | null;
    };
    ListedDelivery: {
      delivery_id: string;
      /** @constant */
      object: 'delivery';
      /** @description The `webhook-id`, the same for all tries. */
      event_id: string;
      /** @enum {string} */
      state: 'pending' | 'delivered' | 'exhausted' | 'gone' | 'blocked' | 'replaced';
      attempts: number;
      last_status: number | null;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      ended_at: number | null;
      next_attempt_at: number | null;
      /** @description Kept for 30 days. */
      tries: {
        n: number;
        /**
         * @description Unix seconds.
         * @example 1795478400
         */
        started_at: number;
        ended_at: number | null;
        /** @description The receiver's HTTP status, if it answered. */
        status: number | null;
        /** @description The class of the failure. */
        error: string | null;
      }[];
      /** @example task_01ky4m8r5t0v2x6z9b3d7f1h4k */
      task_id: string;
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      project_name: string;
      /** @description Of the address that it goes to. Null once the task is erased. */
      host: string | null;
    };
    Margin: {
      /**
       * @description Of the requests of one `unit`, by their cost, or by their price where all cost the same.
       * @enum {string}
       */
      request: 'cheapest' | 'dearest' | 'minimum';
      /** @enum {string} */
      unit: 'request' | '1,000 input tokens' | '1,000 output tokens';
      /** @description Null for the minimum of a chat, which no family decides. */
      family: string | null;
      /** @description The parameters that decide about the price and the cost. */
      asked: {
        [key: string]: unknown;
      };
      credits: number;
      /** @description Micro-USD. */
      price_micro_usd: number;
      /** @description Micro-USD. */
      cost_micro_usd: number;
      /** @description Micro-USD. */
      margin_micro_usd: number;
    };
    ModelRow: {
      id: string;
      display_name: string;
      owned_by: string;
      /** @enum {string} */
      type: 'image' | 'video' | 'chat';
      /** @description retired, hidden, ending while its end is announced by a day or by its status, or else the status. */
      state: string;
      /** @description The first day (UTC) on which it is not sold any more. */
      ends_on: string | null;
      pricing: {
        /** @enum {string} */
        unit: 'request' | 'tokens';
        credits_per_request: number;
        credits_per_1k_input_tokens: number;
        credits_per_1k_output_tokens: number;
        min_credits_per_request: number;
        credits_per_1k_cached_input_tokens?: number;
        credits_per_1k_cache_write_tokens?: number;
        credits_per_1k_cache_write_1h_tokens?: number;
        credits_per_1k_reasoning_tokens?: number;
        long_input?: {
          above_tokens: number;
          credits_per_1k_input_tokens?: number;
          credits_per_1k_output_tokens?: number;
          credits_per_1k_cached_input_tokens?: number;
          credits_per_1k_cache_write_tokens?: number;
          credits_per_1k_cache_write_1h_tokens?: number;
          credits_per_1k_reasoning_tokens?: number;
        };
      };
      /** @description Of a request for media. */
      lowest_credits: number | null;
      highest_credits: number | null;
      /** @description Of all requests, as a share of the price. Null if none is known. */
      smallest_margin: number | null;
      /** @description By which a key's list of models may have it: its id and, of a chat model, its aliases. */
      names: string[];
    };
    Operator: {
      /** @example opr_01ky4m8r5t0v2x6z9b3d7f1h4k */
      operator_id: string;
      /** @description The identity provider, as its ID tokens name it. */
      issuer: string;
      /** @description The person at the identity provider. */
      subject: string;
      name: string;
      /** @enum {string} */
      role: 'viewer' | 'operator' | 'owner';
      created_by: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      last_used_at: number | null;
    };
    Overview: {
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      at: number;
      today: components['schemas']['Traffic'];
      yesterday: components['schemas']['Traffic'];
      /** @description Every hour from the beginning of yesterday to now. */
      hours: {
        /**
         * @description Unix seconds.
         * @example 1795478400
         */
        at: number;
        requests: number;
        /** @description Without the charged chats whose client left, unlike in `usage`. */
        succeeded: number;
        /** @description All others that ended: also refused ones, and chats whose client left. */
        failed: number;
        /** @description Charged, less what was given back. */
        credits: number;
        cost_micro_usd: number;
        margin_micro_usd: number;
        /** @description Of the requests that succeeded, exact to 3 %. Null if none did. */
        p50_ms: number | null;
        p95_ms: number | null;
      }[];
      alarms: components['schemas']['Alarm'][];
      /** @description With `range`: the last hour, day or week. */
      range: components['schemas']['RangeOverview'] | null;
    };
    Plan: {
      /** @example pln_01ky4m8r5t0v2x6z9b3d7f1h4k */
      plan_id: string;
      /** @example partners */
      name: string;
      /** @description The first rule that names a model decides about it. */
      rules: components['schemas']['PlanRule'][];
      /** @description Projects that have the plan. */
      projects: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      updated_at: number;
    };
    PlanPreview: {
      /** @example pln_01ky4m8r5t0v2x6z9b3d7f1h4k */
      plan_id: string;
      /** @example partners */
      name: string;
      /** @description The first rule that names a model decides about it. */
      rules: components['schemas']['PlanRule'][];
      /** @description Projects that have the plan. */
      projects: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      updated_at: number;
      models: components['schemas']['PlannedModel'][];
      unused: {
        /** @description The number of the rule, from 1 on. */
        rule: number;
        /**
         * @description Earlier rules match all of it; it matches no model of the catalog; its models do not use its prices.
         * @enum {string}
         */
        reason: 'earlier_rule' | 'no_model' | 'no_price';
        message: string;
      }[];
    };
    PlanRule:
      | {
          models: string;
          multiplier: number;
        }
      | {
          models: string;
          prices: {
            credits_per_request?: number;
            min_credits_per_request?: number;
            credits_per_1k_input_tokens?: number;
            credits_per_1k_cached_input_tokens?: number;
            credits_per_1k_cache_write_tokens?: number;
            credits_per_1k_cache_write_1h_tokens?: number;
            credits_per_1k_output_tokens?: number;
            credits_per_1k_reasoning_tokens?: number;
            long_input?: {
              credits_per_1k_input_tokens?: number;
              credits_per_1k_cached_input_tokens?: number;
              credits_per_1k_cache_write_tokens?: number;
              credits_per_1k_cache_write_1h_tokens?: number;
              credits_per_1k_output_tokens?: number;
              credits_per_1k_reasoning_tokens?: number;
            };
          };
        };
    PlannedModel: {
      model: string;
      /** @enum {string} */
      type: 'image' | 'video' | 'chat';
      status: string;
      /** @description retired, hidden, ending while its end is announced by a day or by its status, or else the status. */
      state: string;
      /** @description The number of the rule that decides, from 1 on. Null: the prices of the catalog. */
      rule: number | null;
      /** @description In the catalog. */
      catalog: {
        pricing: {
          /** @enum {string} */
          unit: 'request' | 'tokens';
          credits_per_request: number;
          credits_per_1k_input_tokens: number;
          credits_per_1k_output_tokens: number;
          min_credits_per_request: number;
          credits_per_1k_cached_input_tokens?: number;
          credits_per_1k_cache_write_tokens?: number;
          credits_per_1k_cache_write_1h_tokens?: number;
          credits_per_1k_reasoning_tokens?: number;
          long_input?: {
            above_tokens: number;
            credits_per_1k_input_tokens?: number;
            credits_per_1k_output_tokens?: number;
            credits_per_1k_cached_input_tokens?: number;
            credits_per_1k_cache_write_tokens?: number;
            credits_per_1k_cache_write_1h_tokens?: number;
            credits_per_1k_reasoning_tokens?: number;
          };
        };
        pricingRules?: {
          match: {
            /** @enum {string} */
            key: 'img_size' | 'duration';
            value: string | number;
            all?: {
              key: string;
              value: string | number | boolean;
            }[];
          };
          credits: number;
        }[];
      };
      /** @description Under the plan. */
      plan: {
        pricing: {
          /** @enum {string} */
          unit: 'request' | 'tokens';
          credits_per_request: number;
          credits_per_1k_input_tokens: number;
          credits_per_1k_output_tokens: number;
          min_credits_per_request: number;
          credits_per_1k_cached_input_tokens?: number;
          credits_per_1k_cache_write_tokens?: number;
          credits_per_1k_cache_write_1h_tokens?: number;
          credits_per_1k_reasoning_tokens?: number;
          long_input?: {
            above_tokens: number;
            credits_per_1k_input_tokens?: number;
            credits_per_1k_output_tokens?: number;
            credits_per_1k_cached_input_tokens?: number;
            credits_per_1k_cache_write_tokens?: number;
            credits_per_1k_cache_write_1h_tokens?: number;
            credits_per_1k_reasoning_tokens?: number;
          };
        };
        pricingRules?: {
          match: {
            /** @enum {string} */
            key: 'img_size' | 'duration';
            value: string | number;
            all?: {
              key: string;
              value: string | number | boolean;
            }[];
          };
          credits: number;
        }[];
      };
    };
    PlaygroundKey: {
      key_id: string;
      /** @description The secret, which is shown only here. */
      api_key: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      expires_at: number;
      /** @description Credits that the key may spend each day, UTC. */
      budget_daily: number;
    };
    PriceRatios:
      | {
          /** @description For requests with more tokens of input than this. Null: for all others. */
          above: number | null;
          /** @description Price ÷ cost at the dearest family. Null where it costs nothing. */
          input: number | null;
          /** @description Price ÷ cost at the dearest family. Null where it costs nothing. */
          cached_input: number | null;
          /** @description Price ÷ cost at the dearest family. Null where it costs nothing. */
          cache_write: number | null;
          /** @description Price ÷ cost at the dearest family. Null where it costs nothing. */
          output: number | null;
        }
      | {
          /** @description Price ÷ cost at the dearest family. Null where it costs nothing. */
          lowest: number | null;
          /** @description Price ÷ cost at the dearest family. Null where it costs nothing. */
          highest: number | null;
        };
    ProbedProvider: {
      adapter: string;
      ok: boolean;
      call: {
        ok: boolean;
        /** @description False if the adapter has no call that costs nothing. */
        offered: boolean;
        /** @description The class of the failure. */
        reason: string | null;
        /** @description The provider's HTTP status, if it answered. */
        status: number | null;
        /** @description The provider's own words. */
        detail: string | null;
        took_ms: number;
      };
      /** @description The provider's list of models. */
      list: {
        /** @enum {string} */
        state: 'complete' | 'incomplete' | 'not_offered' | 'failed';
        names: number;
        detail: string | null;
      };
      /** @description The models of the catalog that a channel with these groups would serve. */
      data: {
        model: string;
        /** @enum {string} */
        type: 'chat' | 'image' | 'video';
        /** @description The provider's names of the model. */
        upstream: string[];
        /** @description Null if there is no complete list. */
        listed: boolean | null;
      }[];
    };
    Project: {
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      name: string;
      /** @description What operators note about it. */
      note: string | null;
      /** @enum {string} */
      status: 'active' | 'disabled';
      /** @description The name of its plan. Null: it has the prices of the catalog. */
      plan: string | null;
      /** @description Credits that nothing holds. */
      balance: number;
      /** @description Credits that running requests hold. */
      reserved: number;
      /** @description How many credits below zero requests may take the balance. */
      overdraft: number;
      /** @description At which credits the project is told: numbers, or percents of its last top-up. */
      alert_at: string[] | null;
      /** @description Where `balance.low` is posted. */
      alert_url: string | null;
      alert_mail: string[] | null;
      /** @description How much of what its chats say traces have. Null: nothing. */
      trace_content: ('redacted' | 'full') | null;
      /** @description What an import brought of it: remarks and names. */
      metadata: {
        [key: string]: string;
      };
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
    };
    ProjectSecret: {
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /**
       * @description Signs the callbacks.
       * @example whsec_…
       */
      webhook_secret: string;
      /** @description Also signs until `previous_until`. Null if only one signs. */
      previous_secret: string | null;
      previous_until: number | null;
    };
    ProjectSettings: {
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      name: string;
      /** @description What operators note about it. */
      note: string | null;
      /** @description The name of its plan. Null: it has the prices of the catalog. */
      plan: string | null;
      /** @description How many credits below zero requests may take the balance; 0 for none. */
      overdraft: number;
      /** @description At which credits the project is told: numbers, or percents of its last top-up. */
      alert_at: string[] | null;
      /** @description Where `balance.low` is posted. */
      alert_url: string | null;
      alert_mail: string[] | null;
      /** @description How much of what its chats say traces have. Null: nothing. */
      trace_content: ('redacted' | 'full') | null;
      /** @description What is allowed but may be a mistake. */
      warnings?: string[];
    };
    RangeOverview: {
      /** @enum {string} */
      range: 'hour' | 'day' | 'week';
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      from: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      to: number;
      /**
       * @description The range before begins here and ends at `from`.
       * @example 1795478400
       */
      before_from: number;
      now: components['schemas']['Traffic'];
      before: components['schemas']['Traffic'];
      /** @description Of 5 minutes, of an hour or of 6 hours, oldest first. The last one ends now. */
      bars: {
        /**
         * @description Unix seconds.
         * @example 1795478400
         */
        at: number;
        /**
         * @description Unix seconds.
         * @example 1795478400
         */
        until: number;
        requests: number;
        failed: number;
      }[];
      /** @description When the counting began, if that was after `before_from`: an earlier release kept two days. */
      counted_from: number | null;
    };
    RedeliveredTask: {
      /** @example task_01ky4m8r5t0v2x6z9b3d7f1h4k */
      task_id: string;
      /** @description The delivery to `callback_url`. Null without one. */
      callback: {
        /** @enum {string} */
        state: 'pending' | 'delivered' | 'exhausted' | 'gone' | 'blocked' | 'replaced';
        attempts: number;
        last_status: number | null;
        next_attempt_at: number | null;
      } | null;
    };
    RefusedRun: {
      /** @enum {string} */
      name:
        | 'process-pending-callbacks'
        | 'check-stale-media-tasks'
        | 'check-api-channels'
        | 'scheduled-maintenance'
        | 'check-balances';
      /** @constant */
      ran: false;
      /** @constant */
      reason: 'already_running';
      /**
       * @description The run that is under way.
       * @example run_01ky4m8r5t0v2x6z9b3d7f1h4k
       */
      run_id: string;
    };
    RemovedOperator: {
      /** @example opr_01ky4m8r5t0v2x6z9b3d7f1h4k */
      operator_id: string;
      /** @description The identity provider, as its ID tokens name it. */
      issuer: string;
      /** @description The person at the identity provider. */
      subject: string;
    };
    RequestRow: {
      /** @example req_01ky4m8r5t0v2x6z9b3d7f1h4k */
      request_id: string;
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      model: string;
      /**
       * @description `running`: its credits are held. `succeeded`: charged for a whole answer. `incomplete`: charged for what came of an answer that broke off, perhaps 0. `refunded`: the hold was given back.
       * @enum {string}
       */
      outcome: 'running' | 'succeeded' | 'incomplete' | 'refunded';
      /** @description Why it was refunded, or why a charged answer is not whole or cost nothing. `not_delivered`, too, of a chat that was charged and given back. Null for a whole answer, for a chat that runs, and for what an earlier release ended. */
      reason: components['schemas']['EndReason'] | null;
      /** @description That were called, in order. Only the last one once the rows of old calls are deleted. */
      channels: string[];
      /** @description Null unless it was charged. */
      input_tokens: number | null;
      /** @description Null unless it was charged. */
      output_tokens: number | null;
      cached_input_tokens: number | null;
      cache_write_tokens: number | null;
      cache_write_1h_tokens: number | null;
      reasoning_tokens: number | null;
      /** @description The provider did not count the tokens. */
      usage_estimated: boolean;
      credits: {
        /** @description For the worst case, when it began. */
        reserved: number;
        charged: number;
        /** @description The whole reservation of a refunded chat; else what adjustments gave back after the charge. */
        refunded: number;
      };
      /** @description Of all its calls, by the catalog. */
      cost_micro_usd: number;
      /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
      unknown_costs: number;
      /**
       * @description When its credits were reserved.
       * @example 1795478400
       */
      created_at: number;
      ended_at: number | null;
      took_ms: number | null;
      /** @description Null for a chat. */
      task_id: string | null;
      /** @description Null for a task whose row was deleted and whose model is not in the catalog any more. */
      type: ('chat' | 'image' | 'video') | null;
      project_name: string;
      key_name: string;
    };
    ResealedSecrets: {
      channel_credential: {
        resealed: number;
        /** @description These had the first key already. */
        current: number;
        /** @description The ids of those that no configured key decrypts. */
        unreadable: string[];
      };
      callback_secret: {
        resealed: number;
        /** @description These had the first key already. */
        current: number;
        /** @description The ids of those that no configured key decrypts. */
        unreadable: string[];
      };
      callback_secret_previous: {
        resealed: number;
        /** @description These had the first key already. */
        current: number;
        /** @description The ids of those that no configured key decrypts. */
        unreadable: string[];
      };
    };
    ResolvedTask: {
      /** @example task_01ky4m8r5t0v2x6z9b3d7f1h4k */
      task_id: string;
      /** @enum {string} */
      outcome: 'bought' | 'not_bought';
      /** @description The evidence, such as an invoice. */
      reference: string;
      /** @description False if everything was as asked before, so that nothing changed. */
      changed: boolean;
    };
    RevokedAdminToken: {
      /** @example atk_01ky4m8r5t0v2x6z9b3d7f1h4k */
      token_id: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      revoked_at: number;
      /** @description False if everything was as asked before, so that nothing changed. */
      changed: boolean;
    };
    RevokedKey: {
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      revoked_at: number;
      /** @description False if everything was as asked before, so that nothing changed. */
      changed: boolean;
    };
    RotatedKey: {
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      /**
       * @description The secret, which is shown only here.
       * @example sk-…
       */
      api_key: string;
      /**
       * @description Unix seconds: until then the previous secret works as well.
       * @example 1795478400
       */
      previous_until: number;
    };
    RunningJob: {
      run_id: string | null;
      /** @enum {string} */
      name:
        | 'process-pending-callbacks'
        | 'check-stale-media-tasks'
        | 'check-api-channels'
        | 'scheduled-maintenance'
        | 'check-balances';
    };
    SavedPlan: {
      /** @example partners */
      name: string;
      /** @description The first rule that names a model decides about it. */
      rules: components['schemas']['PlanRule'][];
      /** @description What is allowed but may be a mistake. */
      warnings?: string[];
    };
    SearchHit: {
      /** @enum {string} */
      type:
        | 'project'
        | 'key'
        | 'model'
        | 'channel'
        | 'plan'
        | 'task'
        | 'chat'
        | 'delivery'
        | 'file'
        | 'ledger_entry'
        | 'job_run'
        | 'admin_token'
        | 'operator'
        | 'silence'
        | 'request';
      /** @example task_01ky4m8r5t0v2x6z9b3d7f1h4k */
      id: string;
      /** @description Its own name, or the model or the task that it is about. May be empty. */
      name: string;
      /** @description The page of the console that shows it, without the address of the server. */
      url: string;
    };
    Session: {
      name: string;
      /** @description How the audit log names whom it belongs to. */
      actor: string;
      /** @enum {string} */
      role: 'viewer' | 'operator' | 'owner';
      /** @description Null for a token that never expires. */
      expires_at: number | null;
      /** @description What one credit is worth. */
      credit_value_micro_usd: number;
      /** @description The sign before amounts of money. */
      currency_sign: string;
      /** @description Where clients reach the client API. Empty: where the console is. */
      public_base_url: string;
    };
    SetModel: {
      model: string;
      /** @description False if everything was as asked before, so that nothing changed. */
      changed: boolean;
      version: string;
      warnings: string[];
    };
    ShownKey: {
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /** @enum {string} */
      state: 'active' | 'expired' | 'revoked';
      /** @description Whether it is a key of the playground, whose limits and secret cannot be changed. */
      playground: boolean;
      /** @description The first characters of the newest secret. */
      prefix: string | null;
      last4: string | null;
      name: string;
      metadata: {
        [key: string]: string;
      };
      scopes: ('chat' | 'media' | 'read')[];
      /** @description The addresses that may use the key, as CIDRs. Null: any. */
      ip_ranges: string[] | null;
      /** @description Null: every model. */
      models: string[] | null;
      /** @description POST requests in any 60 seconds. */
      rpm: number | null;
      /** @description Tasks and chats that may run at the same time. */
      in_flight_max: number | null;
      /** @description Credits over its lifetime. */
      budget: number | null;
      /** @description Credits each day, UTC. */
      budget_daily: number | null;
      /** @description Credits each month, UTC. */
      budget_monthly: number | null;
      expires_at: number | null;
      /** @description Tasks and chats that run. */
      in_flight: number;
      spent: number;
      reserved: number;
      /** @description Spent and reserved by the requests of this day, UTC. */
      used_today: number;
      used_this_month: number;
      revoked_at: number | null;
      last_used_at: number | null;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      project_name: string;
      /** @description POST requests of the last 60 seconds. Null without a limit: they are not counted. */
      requests: number | null;
      /** @description Who created it. Null if the audit log does not have it. */
      created_by: string | null;
    };
    ShownRequest: {
      /** @example req_01ky4m8r5t0v2x6z9b3d7f1h4k */
      request_id: string;
      /**
       * @description `chat`: credits were held for it. `task`: it created `task_id`. `answered`: no credits were held for it.
       * @enum {string}
       */
      kind: 'chat' | 'task' | 'answered';
      task_id: string | null;
      /** @description Null for a chat and for a task. */
      answered: components['schemas']['AnsweredRequest'] | null;
      /** @description What `GET /chats/{id}` answers. */
      chat: components['schemas']['ChatTimeline'] | null;
      /** @description What `GET /tasks/{id}` answers. */
      task: components['schemas']['TaskTimeline'] | null;
    };
    SignInOptions: {
      /** @description Null where no identity provider is configured. */
      oidc: {
        issuer: string;
        /** @description Where a sign-in begins. */
        url: string;
      } | null;
    };
    Silence: {
      /** @example sil_01ky4m8r5t0v2x6z9b3d7f1h4k */
      silence_id: string;
      /**
       * @description Why it fires.
       * @example account
       */
      name: string;
      /** @description The only channel or job that it covers, or empty for all. */
      subject: string;
      reason: string;
      created_by: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      until: number;
    };
    Spend: {
      /** @constant */
      object: 'list';
      data: components['schemas']['SpendRow'][];
      total: {
        requests: number;
        /** @description Charged, also for what came until the client left. */
        succeeded: number;
        /** @description Refunded for another reason than a refusal, also canceled by the client. */
        failed: number;
        /** @description Refunded because the provider refused the request as invalid, too long or against its content policy. */
        refused: number;
        /** @description The client left or canceled, whether it was charged for what came until then or not. */
        left: number;
        /** @description Of those: charged, and counted as succeeded. The others are counted as failed. */
        left_charged: number;
        /** @description Charged, less what was given back. */
        credits: number;
        /** @description Of the calls to providers that began in the range. */
        cost_micro_usd: number;
        /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
        unknown_costs: number;
        /** @description The worth of the credits less the cost. */
        margin_micro_usd: number;
        input_tokens: number;
        output_tokens: number;
        /** @description The part of the input that the provider read from its cache. */
        cached_input_tokens: number;
        /** @description The part of the input that the provider wrote to its cache. */
        cache_write_tokens: number;
        /** @description The part of what was written that the cache keeps for an hour. */
        cache_write_1h_tokens: number;
        /** @description The part of the output that is hidden reasoning. */
        reasoning_tokens: number;
      };
      /** @description Calls whose cost is unknown, and clients that left, are counted from this time on: an earlier release has added up what was before. Null if all are counted. */
      unknown_costs_from: number | null;
    };
    SpendRow: {
      requests: number;
      /** @description Charged, also for what came until the client left. */
      succeeded: number;
      /** @description Refunded for another reason than a refusal, also canceled by the client. */
      failed: number;
      /** @description Refunded because the provider refused the request as invalid, too long or against its content policy. */
      refused: number;
      /** @description The client left or canceled, whether it was charged for what came until then or not. */
      left: number;
      /** @description Of those: charged, and counted as succeeded. The others are counted as failed. */
      left_charged: number;
      /** @description Charged, less what was given back. */
      credits: number;
      /** @description Of the calls to providers that began in the range. */
      cost_micro_usd: number;
      /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
      unknown_costs: number;
      /** @description The worth of the credits less the cost. */
      margin_micro_usd: number;
      input_tokens: number;
      output_tokens: number;
      /** @description The part of the input that the provider read from its cache. */
      cached_input_tokens: number;
      /** @description The part of the input that the provider wrote to its cache. */
      cache_write_tokens: number;
      /** @description The part of what was written that the cache keeps for an hour. */
      cache_write_1h_tokens: number;
      /** @description The part of the output that is hidden reasoning. */
      reasoning_tokens: number;
      /** @description `YYYY-MM-DD` in the zone. */
      day: string | null;
      /** @description `YYYY-MM-DDTHH:00` in the zone. */
      hour: string | null;
      model: string | null;
      project_id: string | null;
      project_name: string | null;
      key_id: string | null;
      key_name: string | null;
      channel_id: string | null;
      /** @description The present name of the channel; null if it was deleted. */
      channel: string | null;
      /** @description Of the model; null if the catalog does not have it any more. */
      type: string | null;
      /** @description All groups that are not among the largest, as one. */
      is_rest: boolean;
    };
    Summary: {
      /** @example 2030-01 */
      month: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      built_at: number;
      /** @description Null while the month is rebuilt every day. */
      frozen_at: number | null;
      credit_value_micro_usd: number;
      /** @description Calls whose cost is unknown, and clients that left, are counted from this time on: an earlier release has added up what was before. Null if all are counted. */
      unknown_costs_from: number | null;
      data: components['schemas']['SummaryRow'][];
      /** @description The sums of the projects that have each plan now, by its name; those without a plan come last. */
      plans: {
        /** @description The plan that the project has now. Null: the prices of the catalog. */
        plan: string | null;
        requests: number;
        successes: number;
        failures: number;
        /** @description The client left or canceled, whether it was charged for what came until then or not. */
        left: number;
        /** @description Of those: charged, and counted as succeeded. The others are counted as failed. */
        left_charged: number;
        credits_charged: number;
        cost_micro_usd: number;
        /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
        unknown_costs: number;
        margin_micro_usd: number;
        input_tokens: number;
        output_tokens: number;
        /** @description The part of the input that the provider read from its cache. */
        cached_input_tokens: number;
        /** @description The part of the input that the provider wrote to its cache. */
        cache_write_tokens: number;
        /** @description The part of what was written that the cache keeps for an hour. */
        cache_write_1h_tokens: number;
        /** @description The part of the output that is hidden reasoning. */
        reasoning_tokens: number;
      }[];
      totals: {
        requests: number;
        successes: number;
        failures: number;
        /** @description The client left or canceled, whether it was charged for what came until then or not. */
        left: number;
        /** @description Of those: charged, and counted as succeeded. The others are counted as failed. */
        left_charged: number;
        credits_charged: number;
        cost_micro_usd: number;
        /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
        unknown_costs: number;
        margin_micro_usd: number;
        input_tokens: number;
        output_tokens: number;
        /** @description The part of the input that the provider read from its cache. */
        cached_input_tokens: number;
        /** @description The part of the input that the provider wrote to its cache. */
        cache_write_tokens: number;
        /** @description The part of what was written that the cache keeps for an hour. */
        cache_write_1h_tokens: number;
        /** @description The part of the output that is hidden reasoning. */
        reasoning_tokens: number;
      };
    };
    SummaryRow: {
      project_id: string;
      project_name: string;
      /** @description The plan that the project has now. Null: the prices of the catalog. */
      plan: string | null;
      /** @description Empty for credits that belong to no model. */
      model: string;
      channel_id: string;
      /** @description Null if the channel was deleted or there was none. */
      channel: string | null;
      requests: number;
      successes: number;
      failures: number;
      /** @description The client left or canceled, whether it was charged for what came until then or not. */
      left: number;
      /** @description Of those: charged, and counted as succeeded. The others are counted as failed. */
      left_charged: number;
      credits_charged: number;
      cost_micro_usd: number;
      /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
      unknown_costs: number;
      margin_micro_usd: number;
      input_tokens: number;
      output_tokens: number;
      /** @description The part of the input that the provider read from its cache. */
      cached_input_tokens: number;
      /** @description The part of the input that the provider wrote to its cache. */
      cache_write_tokens: number;
      /** @description The part of what was written that the cache keeps for an hour. */
      cache_write_1h_tokens: number;
      /** @description The part of the output that is hidden reasoning. */
      reasoning_tokens: number;
    };
    SwitchedChannel: {
      /** @example chn_01ky4m8r5t0v2x6z9b3d7f1h4k */
      channel_id: string;
      name: string;
      enabled: boolean;
      /** @description False if everything was as asked before, so that nothing changed. */
      changed: boolean;
    };
    SwitchedProject: {
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      /** @enum {string} */
      status: 'active' | 'disabled';
      /** @description False if everything was as asked before, so that nothing changed. */
      changed: boolean;
    };
    TaskContent: {
      task_id: string;
      /** @constant */
      object: 'task';
      /** @enum {string} */
      type: 'image' | 'video';
      model: string;
      /**
       * @description The last three are final. An ended task never changes again.
       * @enum {string}
       */
      status: 'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled';
      /** @description Percent, as far as the provider tells. */
      progress: number | null;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      started_at: number | null;
      completed_at: number | null;
      /** @description When the results are deleted. Unix seconds. */
      expires_at: number | null;
      deadline_seconds: number;
      max_credits: number | null;
      metadata: {
        [key: string]: string;
      };
      /** @description The request as it is priced and sent, defaults included. Null once the content was erased. */
      input: {
        [key: string]: unknown;
      } | null;
      output: components['schemas']['TaskOutput'][] | null;
      /** @description Why the task did not succeed. */
      error: {
        /** @enum {string} */
        code:
          | 'upstream_failed'
          | 'upstream_invalid_response'
          | 'upstream_outcome_unknown'
          | 'task_timeout'
          | 'content_policy_violation'
          | 'no_channel_available'
          | 'output_unavailable'
          | 'canceled';
        message: string;
        /** @description Whether the same request may succeed later. */
        retryable: boolean;
      } | null;
      credits: {
        quoted: number;
        reserved: number;
        charged: number;
        refunded: number;
      };
      /** @description The delivery to `callback_url`. Null without one. */
      callback: {
        /** @enum {string} */
        state: 'pending' | 'delivered' | 'exhausted' | 'gone' | 'blocked' | 'replaced';
        attempts: number;
        last_status: number | null;
        next_attempt_at: number | null;
      } | null;
      /** @description Calls to providers. */
      attempts: number;
      /** @description The `x-request-id` of the create. */
      request_id: string;
      /** @description Why it ended as it did, and what became of its callback, in sentences. */
      explanation: string;
      /** @description Addresses of results that a provider gave and the task did not get. `tasks adopt` saves one. */
      kept_results: {
        attempt: number;
        /** @description Null if no configured key decrypts it. */
        url: string | null;
      }[];
      attempts_detail: components['schemas']['AttemptDetail'][];
      /** @description What an operator found out about an unknown outcome. */
      resolution: {
        /** @enum {string} */
        outcome: 'bought' | 'not_bought';
        /** @description The evidence, such as an invoice. */
        reference: string;
      } | null;
      /** @description From its create request to its callback, if that is traced. */
      trace_id: string | null;
    };
    TaskOutput: {
      /** @description A signed URL, which needs no key. It is valid until `expires_at`. */
      url: string;
      mime_type: string;
      bytes: number;
      width: number | null;
      height: number | null;
      /** @description Seconds. Null for pictures. */
      duration: number | null;
      /** @description Lower-case hexadecimal. */
      sha256: string;
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      expires_at: number;
    };
    TaskRow: {
      /** @example task_01ky4m8r5t0v2x6z9b3d7f1h4k */
      task_id: string;
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      project_name: string;
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      key_name: string;
      /** @enum {string} */
      type: 'image' | 'video';
      model: string;
      /** @enum {string} */
      status: 'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled';
      error_code:
        | (
            | 'upstream_failed'
            | 'upstream_invalid_response'
            | 'upstream_outcome_unknown'
            | 'task_timeout'
            | 'content_policy_violation'
            | 'no_channel_available'
            | 'output_unavailable'
            | 'canceled'
          )
        | null;
      /** @description A provider may have billed it. */
      outcome_unknown: boolean;
      /** @description Calls to providers. */
      attempts: number;
      credits: {
        quoted: number;
        reserved: number;
        charged: number;
        refunded: number;
      };
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      started_at: number | null;
      completed_at: number | null;
      /** @example req_01ky4m8r5t0v2x6z9b3d7f1h4k */
      request_id: string;
    };
    TaskTimeline: {
      /** @example task_01ky4m8r5t0v2x6z9b3d7f1h4k */
      task_id: string;
      /** @example prj_01ky4m8r5t0v2x6z9b3d7f1h4k */
      project_id: string;
      project_name: string;
      /** @example key_01ky4m8r5t0v2x6z9b3d7f1h4k */
      key_id: string;
      key_name: string;
      /** @enum {string} */
      type: 'image' | 'video';
      model: string;
      /** @enum {string} */
      status: 'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled';
      error_code:
        | (
            | 'upstream_failed'
            | 'upstream_invalid_response'
            | 'upstream_outcome_unknown'
            | 'task_timeout'
            | 'content_policy_violation'
            | 'no_channel_available'
            | 'output_unavailable'
            | 'canceled'
          )
        | null;
      /** @description A provider may have billed it. */
      outcome_unknown: boolean;
      /** @description Calls to providers. */
      attempts: number;
      credits: {
        quoted: number;
        reserved: number;
        charged: number;
        refunded: number;
      };
      /**
       * @description Unix seconds.
       * @example 1795478400
       */
      created_at: number;
      started_at: number | null;
      completed_at: number | null;
      /** @example req_01ky4m8r5t0v2x6z9b3d7f1h4k */
      request_id: string;
      /** @description Why it ended as it did, and what became of its callback, in sentences. */
      explanation: string;
      /** @description What may be sent to the customer: it names no channel and no provider. */
      for_customer: string;
      attempts_detail: components['schemas']['AttemptDetail'][];
      /** @description Of all its calls. */
      cost_micro_usd: number;
      /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
      unknown_costs: number;
      /** @description What an operator found out about an unknown outcome. */
      resolution: {
        /** @enum {string} */
        outcome: 'bought' | 'not_bought';
        /** @description The evidence, such as an invoice. */
        reference: string;
      } | null;
      /** @description In the Temporal UI, if its address is known. */
      workflow_url: string | null;
      /** @description From its create request to its callback, if that is traced. */
      trace_id: string | null;
      deliveries: components['schemas']['Delivery'][];
      ledger: components['schemas']['LedgerEntry'][];
    };
    TestCallback: {
      /** @description The `webhook-id`. */
      event_id: string;
      /** @enum {string} */
      type: 'task.succeeded' | 'task.failed' | 'task.canceled';
      url: string;
      /** @description The receiver's HTTP status, if it answered. */
      status: number | null;
      /** @description Why there was no answer. */
      error: string | null;
      ok: boolean;
    };
    TestedChannel: {
      /** @example chn_01ky4m8r5t0v2x6z9b3d7f1h4k */
      channel_id: string;
      name: string;
      adapter: string;
      ok: boolean;
      /** @description False if the adapter has no call that costs nothing. */
      offered: boolean;
      /** @description The class of the failure. */
      reason: string | null;
      /** @description The provider's HTTP status, if it answered. */
      status: number | null;
      /** @description The provider's own words. */
      detail: string | null;
      took_ms: number;
    };
    Traffic: {
      requests: number;
      /** @description Without the charged chats whose client left, unlike in `usage`. */
      succeeded: number;
      /** @description All others that ended: also refused ones, and chats whose client left. */
      failed: number;
      /** @description Charged, less what was given back. */
      credits: number;
      cost_micro_usd: number;
      margin_micro_usd: number;
      /** @description Of the requests that succeeded, exact to 3 %. Null if none did. */
      p50_ms: number | null;
      p95_ms: number | null;
      /** @description Of the failed ones: the provider refused the request as invalid, too long or against its content policy. */
      refused: number;
      /** @description Calls whose cost is unknown, such as a chat that broke off. All calls cost at least `cost_micro_usd`. */
      unknown_costs: number;
      /** @description Of the failed ones: the client left, charged or not, or canceled. */
      left: number;
      /** @description Of the chats that succeeded. */
      chat_p50_ms: number | null;
      /** @description Of the tasks that succeeded. */
      media_p50_ms: number | null;
    };
    VerifiedChannel: {
      /** @example chn_01ky4m8r5t0v2x6z9b3d7f1h4k */
      channel_id: string;
      name: string;
      adapter: string;
      ok: boolean;
      call: {
        ok: boolean;
        /** @description False if the adapter has no call that costs nothing. */
        offered: boolean;
        /** @description The class of the failure. */
        reason: string | null;
        /** @description The provider's HTTP status, if it answered. */
        status: number | null;
        /** @description The provider's own words. */
        detail: string | null;
        took_ms: number;
      };
      /** @description The provider's list of models. */
      list: {
        /** @enum {string} */
        state: 'complete' | 'incomplete' | 'not_offered' | 'failed';
        names: number;
        detail: string | null;
      };
      /** @description Whether real calls were made. */
      live: boolean;
      /** @description What the real calls cost at most. */
      spent_micro_usd: number;
      data: {
        model: string;
        /** @enum {string} */
        type: 'chat' | 'image' | 'video';
        /** @description The provider's names of the model. */
        upstream: string[];
        /** @description Null if there is no complete list. */
        listed: boolean | null;
        /** @description False while the channel is not drawn for this model. */
        drawn: boolean;
        /** @description Where and when the mapping was last checked against the provider's documents. */
        verified: {
          source: string;
          on: string;
        } | null;
        live:
          | (
              | {
                  /** @description The parameters of the cheapest request. */
                  request: {
                    [key: string]: unknown;
                  };
                  /** @constant */
                  outcome: 'not_asked';
                  /** @description Why. */
                  detail: string;
                }
              | {
                  /** @description The parameters of the cheapest request. */
                  request: {
                    [key: string]: unknown;
                  };
                  /** @enum {string} */
                  outcome: 'ok' | 'failed';
                  reason: string | null;
                  detail: string | null;
                  took_ms: number;
                  /** @description The tokens of a chat. */
                  usage: {
                    input: number;
                    output: number;
                  } | null;
                  outputs: {
                    width: number | null;
                    height: number | null;
                    duration: number | null;
                    bytes: number;
                  }[];
                  cost_micro_usd: number;
                }
            )
          | null;
        ok: boolean;
      }[];
    };
    VersionedCatalogEntry: {
      id: string;
      /** @constant */
      object: 'model';
      /** @enum {string} */
      type: 'image' | 'video' | 'chat';
      owned_by: string;
      display_name: string;
      group: string;
      capability: string;
      description: string | null;
      status: string;
      pricing: {
        /** @enum {string} */
        unit: 'request' | 'tokens';
        credits_per_request: number;
        credits_per_1k_input_tokens: number;
        credits_per_1k_output_tokens: number;
        min_credits_per_request: number;
        credits_per_1k_cached_input_tokens?: number;
        credits_per_1k_cache_write_tokens?: number;
        credits_per_1k_cache_write_1h_tokens?: number;
        credits_per_1k_reasoning_tokens?: number;
        long_input?: {
          above_tokens: number;
          credits_per_1k_input_tokens?: number;
          credits_per_1k_output_tokens?: number;
          credits_per_1k_cached_input_tokens?: number;
          credits_per_1k_cache_write_tokens?: number;
          credits_per_1k_cache_write_1h_tokens?: number;
          credits_per_1k_reasoning_tokens?: number;
        };
      };
      parameters: {
        prompt?: boolean;
        image?: boolean;
        video_url?: boolean;
        audio_url?: boolean;
        reference_images?: boolean;
        negative_prompt?: boolean;
        messages?: boolean;
        stream?: boolean;
        temperature?: boolean;
        max_tokens?: boolean;
        variants?: boolean;
        generate_audio?: boolean;
        img_size?: string[];
        aspect_ratio?: string[];
        duration?: number[];
        resolution?: string[];
        pricingRules?: {
          match: {
            /** @enum {string} */
            key: 'img_size' | 'duration';
            value: string | number;
            all?: {
              key: string;
              value: string | number | boolean;
            }[];
          };
          credits: number;
        }[];
        fields?: {
          key: string;
          label: string;
          /** @enum {string} */
          type: 'enum' | 'number' | 'boolean';
          options?: (string | number)[];
          min?: number;
          max?: number;
          step?: number;
          default?: string | number | boolean;
          description?: string;
        }[];
        examples?: {
          label: string;
          values: {
            [key: string]: unknown;
          };
        }[];
      } & {
        [key: string]: unknown;
      };
      catalogVisible?: boolean;
      private: {
        public: boolean;
        retired?: string;
        /** Format: date */
        ends_on?: string;
        loss_ok?: string;
        groups: string[];
        variant_field: string | null;
        reference_images_max: number;
        image_tokens: number;
        context_tokens: number | null;
        max_tokens?: {
          min: number;
          default: number;
        };
        max_output_tokens?: number;
        session_affinity?: boolean;
        aliases: {
          [key: string]: {
            [key: string]: unknown;
          };
        };
        upstream: {
          [key: string]: {
            model: string;
            model_by?: {
              key: string;
              values: {
                [key: string]: string;
              };
            };
            path_by_input?: {
              video_url?: string;
              reference_images?: string;
              image?: string;
              none?: string;
            };
            cost:
              | {
                  when?: {
                    [key: string]: (string | number | boolean) | (string | number | boolean)[];
                  };
                  per_request?: number;
                  per_second?: number;
                  per_image?: number;
                }[]
              | {
                  per_million: {
                    above_input_tokens?: number;
                    input: number;
                    output: number;
                    cached_input?: number;
                    cache_write?: number;
                    cache_write_1h?: number;
                    reasoning?: number;
                  }[];
                };
            verified?: {
              source: string;
              /** Format: date */
              on: string;
            };
            price_key?: string;
            price_differs?: string;
            loss_ok?: string;
            parameters: {
              [key: string]:
                | (
                    | {
                        name: string;
                        values?: {
                          [key: string]: unknown;
                        };
                      }
                    | {
                        name: string;
                        values?: {
                          [key: string]: unknown;
                        };
                      }[]
                  )
                | null;
            };
            sends?: {
              when: {
                [key: string]: (string | number | boolean) | (string | number | boolean)[];
              };
              fields: {
                [key: string]: unknown;
              };
            }[];
            fixed?: {
              [key: string]: unknown;
            };
            pass_through?: string[];
            only?: {
              [key: string]: (string | number | boolean)[];
            };
            refuses?: {
              [key: string]: (string | number | boolean) | (string | number | boolean)[];
            }[];
            no_forced_tools?: boolean;
            tools_max?: number;
            documents?: {
              page_tokens: number;
              likely_page_tokens: number;
            };
            /** @enum {string} */
            thinking?: 'adaptive' | 'budget';
            /** @enum {string} */
            thinking_off?: 'between_tools' | 'never';
            efforts?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max')[];
            /** @enum {string} */
            api?: 'responses';
            system_turns?: boolean;
            vendor?: string;
            keeps_reasoning?: boolean;
            inputs?: {
              image?: string;
              reference_images?: string;
              video_url?: string;
              audio_url?: string;
            };
          };
        };
      };
      /** @description The version of this model, which `catalog set` may name. */
      version: string;
      /** @description retired, hidden, ending while its end is announced by a day or by its status, or else the status. */
      state: string;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type Account = components['schemas']['Account'];
export type AddedOperator = components['schemas']['AddedOperator'];
export type AdjustedCredits = components['schemas']['AdjustedCredits'];
export type AdminToken = components['schemas']['AdminToken'];
export type AdoptedResult = components['schemas']['AdoptedResult'];
export type Alarm = components['schemas']['Alarm'];
export type AnsweredRequest = components['schemas']['AnsweredRequest'];
export type AppliedCatalog = components['schemas']['AppliedCatalog'];
export type AttemptDetail = components['schemas']['AttemptDetail'];
export type AuditEntry = components['schemas']['AuditEntry'];
export type BegunSilence = components['schemas']['BegunSilence'];
export type CanceledTask = components['schemas']['CanceledTask'];
export type CatalogCheck = components['schemas']['CatalogCheck'];
export type CatalogEntry = components['schemas']['CatalogEntry'];
export type ChangedPlan = components['schemas']['ChangedPlan'];
export type Channel = components['schemas']['Channel'];
export type ChannelCredential = components['schemas']['ChannelCredential'];
export type ChannelHistory = components['schemas']['ChannelHistory'];
export type ChannelLimits = components['schemas']['ChannelLimits'];
export type ChannelReason = components['schemas']['ChannelReason'];
export type ChannelSettings = components['schemas']['ChannelSettings'];
export type ChatCall = components['schemas']['ChatCall'];
export type ChatRow = components['schemas']['ChatRow'];
export type ChatTimeline = components['schemas']['ChatTimeline'];
export type CreatedAdminToken = components['schemas']['CreatedAdminToken'];
export type CreatedKey = components['schemas']['CreatedKey'];
export type CreatedProject = components['schemas']['CreatedProject'];
export type Credits = components['schemas']['Credits'];
export type DeletedPlan = components['schemas']['DeletedPlan'];
export type Delivery = components['schemas']['Delivery'];
export type EndReason = components['schemas']['EndReason'];
export type EndedRun = components['schemas']['EndedRun'];
export type EndedSilence = components['schemas']['EndedSilence'];
export type HistoryPoint = components['schemas']['HistoryPoint'];
export type JobRun = components['schemas']['JobRun'];
export type Key = components['schemas']['Key'];
export type KeyLimits = components['schemas']['KeyLimits'];
export type LedgerEntry = components['schemas']['LedgerEntry'];
export type LedgerReport = components['schemas']['LedgerReport'];
export type ListedAlarm = components['schemas']['ListedAlarm'];
export type ListedDelivery = components['schemas']['ListedDelivery'];
export type Margin = components['schemas']['Margin'];
export type ModelRow = components['schemas']['ModelRow'];
export type Operator = components['schemas']['Operator'];
export type Overview = components['schemas']['Overview'];
export type Plan = components['schemas']['Plan'];
export type PlanPreview = components['schemas']['PlanPreview'];
export type PlanRule = components['schemas']['PlanRule'];
export type PlannedModel = components['schemas']['PlannedModel'];
export type PlaygroundKey = components['schemas']['PlaygroundKey'];
export type PriceRatios = components['schemas']['PriceRatios'];
export type ProbedProvider = components['schemas']['ProbedProvider'];
export type Project = components['schemas']['Project'];
export type ProjectSecret = components['schemas']['ProjectSecret'];
export type ProjectSettings = components['schemas']['ProjectSettings'];
export type RangeOverview = components['schemas']['RangeOverview'];
export type RedeliveredTask = components['schemas']['RedeliveredTask'];
export type RefusedRun = components['schemas']['RefusedRun'];
export type RemovedOperator = components['schemas']['RemovedOperator'];
export type RequestRow = components['schemas']['RequestRow'];
export type ResealedSecrets = components['schemas']['ResealedSecrets'];
export type ResolvedTask = components['schemas']['ResolvedTask'];
export type RevokedAdminToken = components['schemas']['RevokedAdminToken'];
export type RevokedKey = components['schemas']['RevokedKey'];
export type RotatedKey = components['schemas']['RotatedKey'];
export type RunningJob = components['schemas']['RunningJob'];
export type SavedPlan = components['schemas']['SavedPlan'];
export type SearchHit = components['schemas']['SearchHit'];
export type Session = components['schemas']['Session'];
export type SetModel = components['schemas']['SetModel'];
export type ShownKey = components['schemas']['ShownKey'];
export type ShownRequest = components['schemas']['ShownRequest'];
export type SignInOptions = components['schemas']['SignInOptions'];
export type Silence = components['schemas']['Silence'];
export type Spend = components['schemas']['Spend'];
export type SpendRow = components['schemas']['SpendRow'];
export type Summary = components['schemas']['Summary'];
export type SummaryRow = components['schemas']['SummaryRow'];
export type SwitchedChannel = components['schemas']['SwitchedChannel'];
export type SwitchedProject = components['schemas']['SwitchedProject'];
export type TaskContent = components['schemas']['TaskContent'];
export type TaskOutput = components['schemas']['TaskOutput'];
export type TaskRow = components['schemas']['TaskRow'];
export type TaskTimeline = components['schemas']['TaskTimeline'];
export type TestCallback = components['schemas']['TestCallback'];
export type TestedChannel = components['schemas']['TestedChannel'];
export type Traffic = components['schemas']['Traffic'];
export type VerifiedChannel = components['schemas']['VerifiedChannel'];
export type VersionedCatalogEntry = components['schemas']['VersionedCatalogEntry'];
export type $defs = Record<string, never>;
export interface operations {
  get_projects_list: {
    parameters: {
      query?: {
        /** @description show only these projects */
        status?: 'active' | 'disabled';
        /** @description show only projects that have this plan, or none */
        plan?: string;
        /** @description show only projects with this in their name or id, in any case */
        q?: string;
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of project_id, name, note, status, plan, balance, reserved, overdraft, alert_url, trace_content, created_at, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 1000) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['Project'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['Project'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_projects_create: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description display name */
          name: string;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CreatedProject'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['CreatedProject'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_projects_show: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description project id, such as prj_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description The version, for `If-Match` of a change. */
          ETag?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Project'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['Project'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  patch_projects_set: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description project id, such as prj_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': {
          /** @description display name */
          name?: string;
          /** @description what operators should know about it, or none */
          note?: ('none' | null) | string;
          /** @description the plan whose prices its requests have from now on, or none for the prices of the catalog */
          plan?: ('none' | null) | string;
          /** @description let requests take the balance this many credits below zero, for customers who pay later; 0 or none for not at all */
          overdraft?: ('none' | null) | (string | number);
          /** @description tell the project when its credits, those on hold included, fall to these: credits, or percents of its last top-up, as 20%,5000000; or none */
          alert_at?: ('none' | null) | (string | number | (string | number)[]);
          /** @description where balance.low is posted, signed as callbacks are, or none */
          alert_url?: ('none' | null) | string;
          /** @description who gets the mail about it, as a@example.com,b@example.com, or none (ALARM_SMTP_URL is the mail server) */
          alert_mail?: ('none' | null) | (string | string[]);
          /** @description let traces have what its chats say: redacted (without keys, addresses, card numbers and files), full (without files), or none */
          trace_content?: ('none' | null) | ('redacted' | 'full');
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ProjectSettings'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ProjectSettings'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_projects_disable: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description project id, such as prj_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['SwitchedProject'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['SwitchedProject'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_projects_enable: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description project id, such as prj_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['SwitchedProject'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['SwitchedProject'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_projects_secret_show: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description project id, such as prj_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description The version, for `If-Match` of a change. */
          ETag?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ProjectSecret'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ProjectSecret'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_projects_secret_rotate: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description project id, such as prj_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': {
          /** @description rotate again during that overlap, which ends the older secret immediately */
          force?: boolean | ('true' | 'false');
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ProjectSecret'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ProjectSecret'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_keys_list: {
    parameters: {
      query?: {
        /** @description show only this project */
        project?: string;
        /** @description show only keys in this state */
        state?: 'active' | 'expired' | 'revoked';
        /** @description show only keys with this in their name or id, in any case, or with these last four characters */
        q?: string;
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of key_id, project_id, state, playground, prefix, last4, name, rpm, in_flight_max, budget, budget_daily, budget_monthly, expires_at, in_flight, spent, reserved, used_today, used_this_month, revoked_at, last_used_at, created_at, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 1000) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['Key'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['Key'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_keys_create: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description project that pays */
          project: string;
          /**
           * @description display name
           * @default
           */
          name?: string;
          /** @description notes of yours, as team=ads,env=test or JSON */
          metadata?:
            | string
            | {
                [key: string]: unknown;
              };
          /** @description what the key may do: some of chat,media,read (default: all) */
          scopes?: string | string[];
          /** @description accept the key only from these addresses, as 203.0.113.0/24,2001:db8::1 (default: any) */
          ip?: (string | string[]) | null;
          /** @description allow only these models, as a,b; a glob such as gpt-* also allows models to come (default: all) */
          models?: (string | string[]) | null;
          /** @description allow this many POST requests in any 60 seconds, or none (default: KEY_RPM_DEFAULT, else unlimited) */
          rpm?: ('none' | null) | (string | number);
          /** @description allow this many credits over its lifetime (default: unlimited) */
          budget?: string | number | null;
          /** @description allow this many credits each day, UTC (default: unlimited) */
          budget_daily?: string | number | null;
          /** @description allow this many credits each month, UTC (default: unlimited) */
          budget_monthly?: string | number | null;
          /** @description allow this many tasks and chats in flight, or none (default: KEY_IN_FLIGHT_DEFAULT, else the limit of its project) */
          in_flight?: ('none' | null) | (string | number);
          /** @description expire at 2030-01-31, 2030-01-31T12:00:00Z, or after 12h, 30d (default: never) */
          expires?: (string | number) | null;
          /** @description take this secret, such as that of a key of another gateway; - reads it from stdin (default: a new one) */
          secret?: string;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CreatedKey'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['CreatedKey'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_keys_show: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description key id, such as key_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description The version, for `If-Match` of a change. */
          ETag?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ShownKey'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ShownKey'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  patch_keys_set: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description key id, such as key_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': {
          /** @description display name */
          name?: string;
          /** @description notes of yours, as team=ads,env=test or JSON, or none */
          metadata?:
            | ('none' | null)
            | (
                | string
                | {
                    [key: string]: unknown;
                  }
              );
          /** @description what the key may do: some of chat,media,read */
          scopes?: string | string[];
          /** @description accept the key only from these addresses, as 203.0.113.0/24,2001:db8::1; none accepts it from any */
          ip?: ('none' | null) | (string | string[]);
          /** @description allow only these models, as a,b or globs such as gpt-*; none allows all */
          models?: ('none' | null) | (string | string[]);
          /** @description allow this many POST requests in any 60 seconds, or none */
          rpm?: ('none' | null) | (string | number);
          /** @description allow this many credits over its lifetime, including those already spent, or none */
          budget?: ('none' | null) | (string | number);
          /** @description allow this many credits each day, UTC, or none */
          budget_daily?: ('none' | null) | (string | number);
          /** @description allow this many credits each month, UTC, or none */
          budget_monthly?: ('none' | null) | (string | number);
          /** @description allow this many tasks and chats in flight, or none */
          in_flight?: ('none' | null) | (string | number);
          /** @description expire at 2030-01-31, 2030-01-31T12:00:00Z, after 12h, 30d, or none */
          expires?: ('none' | null) | (string | number);
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['KeyLimits'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['KeyLimits'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_keys_rotate: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description key id, such as key_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': {
          /** @description end the old secret immediately, because it has leaked */
          now?: boolean | ('true' | 'false');
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RotatedKey'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['RotatedKey'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_keys_revoke: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description key id, such as key_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RevokedKey'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['RevokedKey'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_credits_show: {
    parameters: {
      query: {
        /** @description project that owns the account */
        project: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Account'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['Account'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_credits_add: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description project that owns the account */
          project: string;
          /** @description whole number of credits */
          amount: string | number;
          /** @description payment reference; a second call with the same one adds nothing */
          reference: string;
          /** @description end at 2030-01-31, 2030-01-31T12:00:00Z, or after 12h, 30d: spent before credits that last, and what is left then leaves the account (default: never) */
          expires?: (string | number) | null;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Credits'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['Credits'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_credits_redeem: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description project that owns the account */
          project: string;
          /** @description code that an import found unspent */
          code: string;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Credits'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['Credits'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_credits_deduct: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description project that owns the account */
          project: string;
          /** @description whole number of credits; the balance may become negative */
          amount: string | number;
          /** @description reference of the refund or chargeback; a second call with the same one deducts nothing */
          reference: string;
          /** @description why; clients see it in their ledger */
          reason: string;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Credits'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['Credits'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_credits_adjust: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description task id (task_…) or request id of a chat (req_…) */
          task: string;
          /** @description why; a second call with the same reason gives nothing back */
          reason: string;
          /** @description give back only this many (default: all that remain) */
          amount?: string | number;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AdjustedCredits'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['AdjustedCredits'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_channels_list: {
    parameters: {
      query?: {
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of channel_id, name, adapter, base_url, priority, weight, list_check, enabled, state, limits.rpm, limits.tpm, limits.parallel, limits.not_drawn, limits.until, created_at, with - before it for the largest first (default: by priority) */
        sort?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['Channel'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['Channel'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_channels_add: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description name for operators; clients never see it */
          name: string;
          /** @description provider family: fal, openai, gemini, anthropic, replicate, seedance, kling, xai, dashscope, minimax, runway, tollgate */
          adapter: string;
          /** @description URL that the paths of the adapter are appended to */
          base_url: string;
          /** @description API key of the provider; - reads it from stdin and so keeps it out of the shell history */
          credential: string;
          /** @description serve the models in these groups of the catalog, as a,b */
          groups: string | string[];
          /** @description lower numbers are tried first (default: 1) */
          priority?: string | number;
          /** @description share among channels of one priority; 0 is never drawn (default: 1) */
          weight?: string | number;
          /** @description on: a model that the provider's model list lacks is not drawn; off: the list decides nothing (default: on) */
          list_check?: boolean | ('on' | 'off');
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ChannelSettings'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ChannelSettings'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_channels_show: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description name or id of the channel */
        channel: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description The version, for `If-Match` of a change. */
          ETag?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Channel'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['Channel'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  patch_channels_set: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description name or id of the channel */
        channel: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': {
          /** @description name for operators */
          name?: string;
          /** @description provider family: fal, openai, gemini, anthropic, replicate, seedance, kling, xai, dashscope, minimax, runway, tollgate */
          adapter?: string;
          /** @description URL that the paths of the adapter are appended to */
          base_url?: string;
          /** @description replaces the first credential: API key of the provider; - reads it from stdin and so keeps it out of the shell history */
          credential?: string;
          /** @description one more credential of the same provider, drawn in turn with the others; - reads it from stdin */
          credential_add?: string;
          /** @description removes the credential with this id or these last characters; its running jobs are not polled any more */
          credential_remove?: string;
          /** @description the most requests in a minute; the channel is skipped at its limit; none removes it */
          rpm?: ('none' | null | '0' | 0) | (string | number);
          /** @description the most tokens in a minute, of chats; the channel is skipped at its limit; none removes it */
          tpm?: ('none' | null | '0' | 0) | (string | number);
          /** @description the most calls and jobs at the same time; the channel is skipped at its limit; none removes it */
          parallel?: ('none' | null | '0' | 0) | (string | number);
          /** @description the three limits are of this credential, by its id or last characters, or of `all`; without it, of the channel */
          limit_credential?: string;
          /** @description serve the models in these groups only, as a,b */
          groups?: string | string[];
          /** @description lower numbers are tried first */
          priority?: string | number;
          /** @description share among channels of one priority; 0 is never drawn */
          weight?: string | number;
          /** @description on: a model that the provider's model list lacks is not drawn; off: the list decides nothing */
          list_check?: boolean | ('on' | 'off');
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ChannelSettings'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ChannelSettings'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_channels_probe: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description provider family: fal, openai, gemini, anthropic, replicate, seedance, kling, xai, dashscope, minimax, runway, tollgate */
          adapter: string;
          /** @description URL that the paths of the adapter are appended to */
          base_url: string;
          /** @description API key of the provider; - reads it from stdin and so keeps it out of the shell history */
          credential: string;
          /** @description the groups of the catalog that it would serve, as a,b */
          groups: string | string[];
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ProbedProvider'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ProbedProvider'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_channels_test: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description name or id of the channel */
        channel: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['TestedChannel'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['TestedChannel'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_channels_verify: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description name or id of the channel */
        channel: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': {
          /** @description make the cheapest real call of each model, which the provider bills */
          live?: boolean | ('true' | 'false');
          /** @description with --live: the most that all calls may cost together */
          max_cost?: string | number;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['VerifiedChannel'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['VerifiedChannel'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_channels_history: {
    parameters: {
      query?: {
        /** @description look back this many hours, up to 3 by minutes and more by hours (default: 24) */
        hours?: string | number;
      };
      header?: never;
      path: {
        /** @description name or id of the channel */
        channel: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ChannelHistory'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ChannelHistory'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_channels_enable: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description name or id of the channel */
        channel: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['SwitchedChannel'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['SwitchedChannel'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_channels_disable: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description name or id of the channel */
        channel: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['SwitchedChannel'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['SwitchedChannel'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_catalog_check: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description YAML file with the catalog, or a folder with several */
          catalog:
            | string
            | {
                file?: string;
                text: string;
              }[];
          /** @description with the prices of this plan of the installation */
          plan?: string;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CatalogCheck'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['CatalogCheck'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_catalog_list: {
    parameters: {
      query?: {
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of id, type, owned_by, display_name, group, capability, description, status, pricing.unit, pricing.credits_per_request, pricing.credits_per_1k_input_tokens, pricing.credits_per_1k_output_tokens, pricing.min_credits_per_request, pricing.credits_per_1k_cached_input_tokens, pricing.credits_per_1k_cache_write_tokens, pricing.credits_per_1k_cache_write_1h_tokens, pricing.credits_per_1k_reasoning_tokens, parameters.prompt, parameters.image, parameters.video_url, parameters.audio_url, parameters.reference_images, parameters.negative_prompt, parameters.messages, parameters.stream, parameters.temperature, parameters.max_tokens, parameters.variants, parameters.generate_audio, catalogVisible, private.public, private.retired, private.loss_ok, private.variant_field, private.reference_images_max, private.image_tokens, private.context_tokens, private.max_output_tokens, private.session_affinity, with - before it for the largest first (default: as in the catalog) */
        sort?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description The version, for `If-Match` of a change. */
          ETag?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['CatalogEntry'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
            /** @description The version of the whole catalog, which `catalog apply` may name. */
            version: string;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['CatalogEntry'][];
              /** @description The version of the whole catalog, which `catalog apply` may name. */
              version: string;
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  put_catalog_apply: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description YAML file with the catalog, or a folder with several */
          catalog:
            | string
            | {
                file?: string;
                text: string;
              }[];
          /** @description only if the catalog still has this version, as "catalog list --json" shows it */
          version?: string;
          /** @description show what would change, and change nothing */
          dry_run?: boolean | ('true' | 'false');
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AppliedCatalog'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['AppliedCatalog'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_catalog_show: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description id of a model */
        model: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description The version, for `If-Match` of a change. */
          ETag?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['VersionedCatalogEntry'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['VersionedCatalogEntry'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  put_catalog_set: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description id of the model */
        model: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description JSON or YAML file with the entry, as "catalog show MODEL --json" prints it */
          entry:
            | string
            | {
                [key: string]: unknown;
              };
          /** @description only if the model still has this version, as "catalog show MODEL --json" shows it */
          version?: string;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['SetModel'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['SetModel'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_catalog_models: {
    parameters: {
      query?: {
        /** @description show only chats, images or videos */
        type?: 'image' | 'video' | 'chat';
        /** @description show only models in this state, such as hidden or ending */
        state?: string;
        /** @description show only models with this in their id, their name or an alias, in any case; one with exactly this name is first */
        q?: string;
        /** @description show only models that clients are offered, that this key may use and that a channel serves */
        usable_by?: string;
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of id, display_name, owned_by, type, state, ends_on, pricing.unit, pricing.credits_per_request, pricing.credits_per_1k_input_tokens, pricing.credits_per_1k_output_tokens, pricing.min_credits_per_request, pricing.credits_per_1k_cached_input_tokens, pricing.credits_per_1k_cache_write_tokens, pricing.credits_per_1k_cache_write_1h_tokens, pricing.credits_per_1k_reasoning_tokens, lowest_credits, highest_credits, smallest_margin, with - before it for the largest first (default: as in the catalog) */
        sort?: string;
        /** @description show at most this many rows (default: 100) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['ModelRow'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
            /** @description Every model of the catalog that has requests which cost more than they earn. */
            losing: {
              id: string;
              display_name: string;
            }[];
            /** @description Every group of the catalog. */
            groups: string[];
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['ModelRow'][];
              /** @description Every model of the catalog that has requests which cost more than they earn. */
              losing: {
                id: string;
                display_name: string;
              }[];
              /** @description Every group of the catalog. */
              groups: string[];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_plans_list: {
    parameters: {
      query?: {
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of plan_id, name, projects, created_at, updated_at, with - before it for the largest first (default: by name) */
        sort?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['Plan'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['Plan'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_plans_create: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description name of the plan */
          name: string;
          /** @description JSON or YAML file with a list of rules, {"models": "glob", "multiplier": 1.25} or {"models": "glob", "prices": {"credits_per_1k_input_tokens": 200}}; the first that matches decides; models may also be group:, type: or vendor: and a glob */
          rules: unknown;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['SavedPlan'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['SavedPlan'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_plans_show: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description name of the plan */
        name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description The version, for `If-Match` of a change. */
          ETag?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['PlanPreview'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['PlanPreview'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  patch_plans_set: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description name of the plan */
        name: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description JSON or YAML file with a list of rules, {"models": "glob", "multiplier": 1.25} or {"models": "glob", "prices": {"credits_per_1k_input_tokens": 200}}; the first that matches decides; models may also be group:, type: or vendor: and a glob */
          rules: unknown;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ChangedPlan'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ChangedPlan'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_plans_delete: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
        /** @description The `ETag` that was read. The change is made only if the thing still has this version (RFC 9110 §13.1.1). */
        'If-Match'?: string;
      };
      path: {
        /** @description name of the plan */
        name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeletedPlan'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['DeletedPlan'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_tasks_list: {
    parameters: {
      query?: {
        /** @description show only this project */
        project?: string;
        /** @description show only this state */
        status?: 'queued' | 'processing' | 'succeeded' | 'failed' | 'canceled';
        /** @description show only unresolved tasks with an unknown outcome, which a provider may have billed */
        unknown?: boolean | ('true' | 'false');
        /** @description show only images or videos */
        type?: 'image' | 'video';
        /** @description show only this model */
        model?: string;
        /** @description show only the tasks of this key */
        key?: string;
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of task_id, project_id, project_name, key_id, key_name, type, model, status, error_code, outcome_unknown, attempts, credits, credits.quoted, credits.reserved, credits.charged, credits.refunded, created_at, started_at, completed_at, request_id, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 50) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['TaskRow'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['TaskRow'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_tasks_show: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description task id, such as task_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['TaskContent'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['TaskContent'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_tasks_timeline: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description task id, such as task_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['TaskTimeline'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['TaskTimeline'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_tasks_resolve: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description task id, such as task_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /**
           * @description whether the provider billed the job
           * @enum {string}
           */
          outcome: 'bought' | 'not_bought';
          /** @description evidence, such as an invoice or a ticket */
          reference: string;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ResolvedTask'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ResolvedTask'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_tasks_adopt: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description task id, such as task_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': {
          /** @description address of the result, such as one of "tasks show", or a file of this machine; default: ask the provider once more */
          result?: string;
          /** @description charge the task's quoted credits, once; without it nothing is charged */
          charge?: boolean | ('true' | 'false');
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AdoptedResult'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['AdoptedResult'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_tasks_cancel: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description task id, such as task_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CanceledTask'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['CanceledTask'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_tasks_redeliver: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description task id, such as task_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RedeliveredTask'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['RedeliveredTask'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_chats_list: {
    parameters: {
      query?: {
        /** @description show only this project */
        project?: string;
        /** @description show only the chats of this key */
        key?: string;
        /** @description show only this model */
        model?: string;
        /** @description show only chats for which this channel was called */
        channel?: string;
        /** @description show only this outcome */
        outcome?: 'running' | 'succeeded' | 'incomplete' | 'refunded';
        /** @description show only chats that ended for this reason */
        reason?:
          | 'request_refused'
          | 'content_policy_violation'
          | 'context_length_exceeded'
          | 'upstream_rate_limited'
          | 'upstream_unreachable'
          | 'upstream_timeout'
          | 'upstream_interrupted'
          | 'upstream_failed'
          | 'client_left'
          | 'gateway_stopped'
          | 'internal_error'
          | 'hold_expired'
          | 'admitted_late'
          | 'not_delivered'
          | 'empty_answer';
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of request_id, project_id, key_id, model, outcome, reason, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, usage_estimated, credits, credits.reserved, credits.charged, credits.refunded, cost_micro_usd, unknown_costs, created_at, ended_at, took_ms, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 50) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['ChatRow'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['ChatRow'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_chats_show: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description request id of the chat, such as req_…: the header x-request-id of its answer; or the id of the answer itself */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ChatTimeline'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ChatTimeline'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_requests_list: {
    parameters: {
      query?: {
        /** @description show only this project */
        project?: string;
        /** @description show only the requests of this key */
        key?: string;
        /** @description show only this model */
        model?: string;
        /** @description show only requests for which this channel was called */
        channel?: string;
        /** @description show only chats, images or videos */
        type?: 'chat' | 'image' | 'video';
        /** @description show only this outcome; refused and failed are parts of refunded, left is what a client left, charged or not */
        outcome?: 'running' | 'succeeded' | 'incomplete' | 'refunded' | 'refused' | 'left' | 'failed';
        /** @description show only requests that ended for this reason */
        reason?:
          | 'request_refused'
          | 'content_policy_violation'
          | 'context_length_exceeded'
          | 'upstream_rate_limited'
          | 'upstream_unreachable'
          | 'upstream_timeout'
          | 'upstream_interrupted'
          | 'upstream_failed'
          | 'client_left'
          | 'gateway_stopped'
          | 'internal_error'
          | 'hold_expired'
          | 'admitted_late'
          | 'not_delivered'
          | 'empty_answer'
          | 'upstream_invalid_response'
          | 'upstream_outcome_unknown'
          | 'task_timeout'
          | 'no_channel_available'
          | 'output_unavailable'
          | 'canceled';
        /** @description show only requests that took this long or longer */
        min_ms?: string | number;
        /** @description show only requests that were charged this much or more */
        min_credits?: string | number;
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of request_id, project_id, key_id, model, outcome, reason, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, usage_estimated, credits, credits.reserved, credits.charged, credits.refunded, cost_micro_usd, unknown_costs, created_at, ended_at, took_ms, task_id, type, project_name, key_name, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 50) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['RequestRow'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['RequestRow'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_requests_show: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description request id, such as req_…: the header x-request-id of an answer; or the id of an answer or of a task */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ShownRequest'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ShownRequest'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_deliveries_list: {
    parameters: {
      query?: {
        /** @description show only this project */
        project?: string;
        /** @description show only this task */
        task?: string;
        /** @description show only callbacks to this host, such as hooks.example.com */
        host?: string;
        /** @description show only callbacks in this state */
        state?: 'pending' | 'delivered' | 'exhausted' | 'gone' | 'blocked' | 'replaced';
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of delivery_id, event_id, state, attempts, last_status, created_at, ended_at, next_attempt_at, task_id, project_id, project_name, host, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 50) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['ListedDelivery'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['ListedDelivery'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_webhooks_send_test: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description project whose secret signs */
        project: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description URL that a task could have as its callback_url */
          url: string;
          /**
           * @description type of the event
           * @default task.succeeded
           * @enum {string}
           */
          event?: 'task.succeeded' | 'task.failed' | 'task.canceled';
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['TestCallback'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['TestCallback'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_jobs_list: {
    parameters: {
      query?: {
        /** @description show only this job */
        name?:
          | 'process-pending-callbacks'
          | 'check-stale-media-tasks'
          | 'check-api-channels'
          | 'scheduled-maintenance'
          | 'check-balances';
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of run_id, name, trigger, state, requested_at, started_at, ended_at, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 50) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['JobRun'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['JobRun'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_jobs_run: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description process-pending-callbacks, check-stale-media-tasks, check-api-channels, scheduled-maintenance, check-balances */
        name:
          | 'process-pending-callbacks'
          | 'check-stale-media-tasks'
          | 'check-api-channels'
          | 'scheduled-maintenance'
          | 'check-balances';
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['EndedRun'] | components['schemas']['RefusedRun'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['EndedRun'] | components['schemas']['RefusedRun'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
      /** @description The work continues. */
      202: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RunningJob'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['RunningJob'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_ledger_list: {
    parameters: {
      query: {
        /** @description project that owns the account */
        project: string;
        /** @description show only the entries of this key */
        key?: string;
        /** @description show only this task (task_…) or chat (req_…) */
        task?: string;
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of entry_id, at, kind, credits, balance_after, task_id, request_id, key_id, reference, reason, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, output_tokens, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 50) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['LedgerEntry'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['LedgerEntry'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_ledger_verify: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': {
          /** @description start at the first entry, not at the last checkpoint */
          full?: boolean | ('true' | 'false');
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LedgerReport'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['LedgerReport'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_secrets_reseal: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ResealedSecrets'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['ResealedSecrets'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_usage: {
    parameters: {
      query?: {
        /** @description count only what this project paid (default: every project) */
        project?: string;
        /** @description count only this key */
        key?: string;
        /** @description begin here (default: 30 days before the end, 7 for hours) */
        from?: string | number;
        /** @description end before this time (default: now) */
        to?: string | number;
        /** @description add up by some of day,hour,model,project,key,channel,type (default: day,model,key of one project, day of all) */
        group_by?: string | string[];
        /** @description zone that cuts the days and hours (default: UTC) */
        tz?: string;
        /** @description show so many groups apart and the rest as one */
        top?: string | number;
        /** @description the largest groups are those with the most credits, cost, requests, failed or tokens (default: credits) */
        top_by?: 'credits' | 'cost' | 'requests' | 'failed' | 'tokens';
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Spend'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['Spend'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_summary: {
    parameters: {
      query: {
        /** @description month in UTC */
        month: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Summary'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['Summary'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_search: {
    parameters: {
      query: {
        /** @description id or its beginning, such as task_…, req_… or dlv_…; id of an answer, of a callback or of a job at its provider; name; or characters of a key */
        q: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['SearchHit'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['SearchHit'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_overview_show: {
    parameters: {
      query?: {
        /** @description also show the last hour, day or week against the one before */
        range?: 'hour' | 'day' | 'week';
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Overview'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['Overview'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_alarms_list: {
    parameters: {
      query?: {
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of name, subject, state, message, since, last_at, count, silence.silence_id, silence.name, silence.subject, silence.reason, silence.created_by, silence.created_at, silence.until, with - before it for the largest first (default: those that fire, then the latest) */
        sort?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['ListedAlarm'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['ListedAlarm'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_alarms_silences: {
    parameters: {
      query?: {
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of silence_id, name, subject, reason, created_by, created_at, until, with - before it for the largest first (default: the next end first) */
        sort?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['Silence'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['Silence'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_alarms_silence: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description name of the alarm, as "alarms list" shows it */
          name: string;
          /**
           * @description only about this channel or job (default: about any)
           * @default
           */
          subject?: string;
          /** @description end after 30m, 2h, 7d, at most 30d */
          for: string;
          /** @description why, for the other operators */
          reason: string;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['BegunSilence'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['BegunSilence'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_alarms_unsilence: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description silence id, such as sil_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['EndedSilence'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['EndedSilence'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_audit_list: {
    parameters: {
      query?: {
        /** @description show only this project, key, channel or task */
        subject?: string;
        /** @description show only changes by operators with this in their name or identity, in any case */
        by?: string;
        /** @description show only this kind of change, such as keys.revoke */
        action?: string;
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of id, at, actor, action, subject, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 50) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['AuditEntry'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['AuditEntry'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_admin_tokens_list: {
    parameters: {
      query?: {
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of token_id, name, role, state, prefix, last4, created_by, created_at, expires_at, revoked_at, last_used_at, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 50) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['AdminToken'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['AdminToken'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_admin_tokens_create: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /**
           * @description viewer reads; operator also changes and reads prompts; owner also handles credentials, keys and tokens
           * @enum {string}
           */
          role: 'viewer' | 'operator' | 'owner';
          /**
           * @description who uses it, for the audit log
           * @default
           */
          name?: string;
          /** @description expire at 2030-01-31, 2030-01-31T12:00:00Z, or after 12h, 30d (default: never) */
          expires?: (string | number) | null;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CreatedAdminToken'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['CreatedAdminToken'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_admin_tokens_revoke: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description token id, such as atk_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RevokedAdminToken'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['RevokedAdminToken'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_operators_list: {
    parameters: {
      query?: {
        /** @description show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z */
        created_after?: string | number;
        /** @description show only what was created before this time */
        created_before?: string | number;
        /** @description the order: newest, oldest, or one of operator_id, issuer, subject, name, role, created_by, created_at, last_used_at, with - before it for the largest first (default: newest) */
        sort?: string;
        /** @description show at most this many rows (default: 50) */
        limit?: string | number;
        /** @description continue after the last row of an earlier list */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @constant */
            object: 'list';
            data: components['schemas']['Operator'][];
            has_more: boolean;
            /** @description Send it as `after` to read the next page. */
            next_cursor: string | null;
          };
          'application/vnd.tollgate.report+json': {
            document: {
              data: components['schemas']['Operator'][];
            };
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_operators_add: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description the identity provider, exactly as its ID tokens name it */
          issuer: string;
          /** @description the person there; a sign-in that is refused for a lack of a role shows it */
          subject: string;
          /**
           * @description what the person may do, as the role of an admin token
           * @enum {string}
           */
          role: 'viewer' | 'operator' | 'owner';
          /** @description the name of the person, for the audit log */
          name: string;
        };
      };
    };
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AddedOperator'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['AddedOperator'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  post_operators_remove: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request with the same key and body is made once in 24 hours. */
        'Idempotency-Key'?: string;
      };
      path: {
        /** @description operator id, such as opr_… */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document of the command. */
      200: {
        headers: {
          /** @description `true` for a repetition of an earlier request. */
          'Idempotent-Replayed'?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RemovedOperator'];
          'application/vnd.tollgate.report+json': {
            document: components['schemas']['RemovedOperator'];
            /** @description The report for people. */
            text: string;
            /** @description Whether the command exits with 1. */
            refused: boolean;
          };
        };
      };
    };
  };
  get_api_admin_v1_session: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Who is signed in, or whose token was sent. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Session'];
        };
      };
    };
  };
  post_api_admin_v1_session: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          token: string;
        };
      };
    };
    responses: {
      /** @description Who is signed in. */
      200: {
        headers: {
          /** @description The cookie of the session, which scripts cannot read. */
          'Set-Cookie': string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Session'];
        };
      };
    };
  };
  delete_api_admin_v1_session: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The session has ended. */
      200: {
        headers: {
          /** @description The cookie of the session, which scripts cannot read. */
          'Set-Cookie': string;
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @description False if there was none. */
            ended: boolean;
          };
        };
      };
    };
  };
  get_api_admin_v1_session_options: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The ways to sign in. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['SignInOptions'];
        };
      };
    };
  };
  get_api_admin_v1_session_oidc: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description To the identity provider. */
      303: {
        headers: {
          /** @description The page of the identity provider. */
          Location: string;
          /** @description The cookie of the sign-in. */
          'Set-Cookie': string;
          [name: string]: unknown;
        };
        content: {
          '*/*': string;
        };
      };
    };
  };
  get_api_admin_v1_session_oidc_callback: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description To the console, with a session. */
      303: {
        headers: {
          /** @description The console. */
          Location: string;
          /** @description The cookie of the session, which scripts cannot read. */
          'Set-Cookie': string;
          [name: string]: unknown;
        };
        content: {
          '*/*': string;
        };
      };
    };
  };
  post_api_admin_v1_playground_key: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          project_id: string;
          /** @description The most credits of a day (UTC); without it, credits for 10 US dollars. */
          budget_daily?: number;
        };
      };
    };
    responses: {
      /** @description The key. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['PlaygroundKey'];
        };
      };
    };
  };
  get_api_admin_v1_openapi_json: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The document. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            openapi: string;
            paths: {
              [key: string]: unknown;
            };
          } & {
            [key: string]: unknown;
          };
        };
      };
    };
  };
}
